// What the dashboard computes: pure, so without a browser.

import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';

import { bytes, duration, relativeTime, visible } from '../../dashboard/format.ts';
import { isHtml, withoutLoading } from '../../dashboard/html.ts';
import { failedFilterOf } from '../../dashboard/pages/notifications/filter-of-address.ts';
import { isoOfInput, inputTime } from '../../dashboard/pages/notifications/input-time.ts';
import { isOfOneMore } from '../../dashboard/pages/notifications/of-one-more.ts';
import { timelineOf } from '../../dashboard/pages/notifications/steps.ts';
import { createLiveCounts } from '../../dashboard/pages/overview/live-counts.ts';
import { initialValues, savedBody } from '../../dashboard/pages/providers/values.ts';
import { emptyDraft, requestOf } from '../../dashboard/pages/send/draft.ts';
import { curlOf, typescriptOf } from '../../dashboard/pages/send/snippets.ts';
import { lineDiff } from '../../dashboard/pages/templates/line-diff.ts';
import { placeIn } from '../../dashboard/pages/templates/place.ts';
import type { Place } from '../../dashboard/place.ts';
import { isIn, numbersOf, placeOf } from '../../dashboard/place.ts';
import { createEventReader } from '../../dashboard/sse.ts';
import { claimsOf, isFor } from '../../dashboard/token-claims.ts';
import { isHtmlSource } from '../../src/domain/template.ts';
import fc from '../support/properties.ts';

describe('numbers and times', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1530, '1.53 s'],
    [125_000, '2 min 5 s'],
    [12_000_000, '3 h 20 min'],
    [187_200_000, '2 d 4 h'],
    [3_600_000, '1 h'],
  ])('%i ms are %s', (ms, text) => expect(duration(ms)).toBe(text));

  it('have their units', () => {
    expect([bytes(12), bytes(2048), bytes(1_572_864)]).toEqual(['12 B', '2 KiB', '1.5 MiB']);
    const now = Date.parse('2027-01-31T12:00:00.000Z');
    expect(relativeTime('2027-01-31T11:57:00.000Z', now)).toBe('3 min ago');
    expect(relativeTime('2027-01-31T14:00:00.000Z', now)).toBe('in 2 h');
  });

  it('of a field and of the address are the same minute', () => {
    expect(isoOfInput(inputTime('2027-01-31T14:05:00.000Z'))).toBe('2027-01-31T14:05:00.000Z');
    expect([inputTime(null), inputTime('nonsense'), isoOfInput('')]).toEqual(['', '', '']);
  });
});

describe('a text that hides or turns something', () => {
  it('is shown with those characters written out, and any other text as it is', () => {
    expect(visible('a\u202Eb\u200Bc\u0000d\u2066')).toBe('a\\u{202e}b\\u{200b}c\\u{0}d\\u{2066}');
    expect(visible('a\u00adb\u2028c\u180ed\u{e0041}e')).toBe('a\\u{ad}b\\u{2028}c\\u{180e}d\\u{e0041}e');
    expect(visible('Zeile\n\tनमस्ते 👩‍👧 ünï')).toBe('Zeile\n\tनमस्ते 👩‍👧 ünï');
  });
});

describe('the stream', () => {
  it('is read the same however it is cut', () => {
    const text = ': hello\n\nid: 1\ndata: {"a":1}\n\ndata: x\ndata: y\n\n:\n\nid: 2\ndata: z\n\n';
    const whole = createEventReader()(text);
    expect(whole).toEqual([
      { id: '1', data: '{"a":1}' },
      { id: null, data: 'x\ny' },
      { id: '2', data: 'z' },
    ]);
    fc.assert(
      fc.property(fc.array(fc.nat(text.length)), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const read = createEventReader();
        expect(places.slice(1).flatMap((end, i) => read(text.slice(places[i], end)))).toEqual(whole);
      }),
    );
  });
});

describe('the place of a change', () => {
  it('is what its message raised of the id before, and an answer has it when it has come as far', () => {
    const place = placeOf(numbersOf('3.0.1k.0~7.0.0.2f'), numbersOf('3.0.1k.0~7.0.0.2g'));
    expect(place).toEqual({ part: 7, value: Number.parseInt('2g', 36) });
    if (place === null) return;
    expect(isIn(numbersOf('3.0.1k.0~7.0.0.2g'), place)).toBe(true);
    expect(isIn(numbersOf('3.9.9zz.9~7.0.0.2f'), place)).toBe(false);
  });

  it('is none where the ids do not follow one another', () => {
    expect(placeOf(numbersOf('3.0.1k'), numbersOf('3.0.1k.0'))).toBeNull();
    expect(placeOf(numbersOf('3.0.1k'), numbersOf('3.0.1k'))).toBeNull();
  });
});

describe('live counts', () => {
  const none = { QUEUED: 0, SCHEDULED: 0, PROCESSING: 0, RETRYING: 0, DELIVERED: 0, FAILED: 0, CANCELLED: 0 };
  type Status = keyof typeof none;
  const change = (notificationId: string, status: Status, place: Place | null = null) => ({
    notificationId,
    status,
    channel: 'EMAIL' as const,
    recipient: 'ada@example.com',
    error: null,
    timestamp: '2027-01-31T12:00:00.000Z',
    place,
  });
  const begun = (counts: typeof none) => {
    const live = createLiveCounts();
    live.answered(counts, null);
    return live;
  };

  it('follow notifications from status to status, a repeat counted once', () => {
    const live = begun(none);
    const first = live.changed([change('a', 'QUEUED'), change('a', 'QUEUED'), change('b', 'SCHEDULED')]);
    expect(first).toEqual({ ...none, QUEUED: 1, SCHEDULED: 1 });
    const second = live.changed([
      change('a', 'PROCESSING'),
      change('a', 'FAILED'),
      change('a', 'QUEUED'),
      change('b', 'CANCELLED'),
    ]);
    expect(second).toEqual({ ...none, QUEUED: 1, CANCELLED: 1 });
  });

  it('take what was counted before they began from where it most likely was, and are never negative', () => {
    expect(begun({ ...none, QUEUED: 3 }).changed([change('x', 'DELIVERED')])).toEqual({
      ...none,
      QUEUED: 2,
      DELIVERED: 1,
    });
    expect(begun(none).changed([change('x', 'DELIVERED')])).toEqual({ ...none, DELIVERED: 1 });
  });

  it('are known from the first answer on, and an answer that names no position changes nothing that is counted', () => {
    const live = createLiveCounts();
    expect(live.changed([change('a', 'QUEUED')])).toBeNull();
    expect(live.answered({ ...none, QUEUED: 1 }, '3.0.1.0')).toEqual({ ...none, QUEUED: 1 });
    live.changed([change('b', 'QUEUED', { part: 1, value: 2 })]);
    expect(live.answered({ ...none, QUEUED: 1 }, null)).toEqual({ ...none, QUEUED: 2 });
  });

  it('count a change once, whether the stream or an answer had it first', () => {
    const live = createLiveCounts();
    live.answered({ ...none, QUEUED: 1 }, '3.0.1.0');
    // The answer had it: the stream tells it later.
    expect(live.changed([change('a', 'QUEUED', { part: 2, value: 1 })])).toEqual({ ...none, QUEUED: 1 });
    // The stream had it: the answer was read before it.
    expect(live.changed([change('a', 'DELIVERED', { part: 3, value: 1 })])).toEqual({ ...none, DELIVERED: 1 });
    expect(live.answered({ ...none, QUEUED: 1 }, '3.0.1.0')).toEqual({ ...none, DELIVERED: 1 });
    expect(live.answered({ ...none, DELIVERED: 1 }, '3.0.1.1')).toEqual({ ...none, DELIVERED: 1 });
  });

  it('are exact whenever all is told, however answers and changes meet', () => {
    const steps: readonly Status[] = ['QUEUED', 'PROCESSING', 'RETRYING', 'DELIVERED'];
    fc.assert(
      fc.property(
        fc.array(fc.record({ of: fc.nat(3), row: fc.nat(1), answers: fc.nat(3), late: fc.nat(4) }), { maxLength: 60 }),
        (events) => {
          const ids = [
            [3, 0, 0],
            [7, 0, 0],
          ];
          const idText = () => ids.map((row) => row.map((n) => n.toString(36)).join('.')).join('~');
          const reached = new Map<string, number>();
          const truth = { ...none };
          const live = createLiveCounts();
          live.answered(none, idText());
          let told: (() => void)[] = [];
          for (const { of, row, answers, late } of events) {
            const id = `${row} ${of}`;
            const step = reached.get(id) ?? 0;
            const [status, former] = [steps[step], steps[step - 1]];
            if (status === undefined) continue;
            reached.set(id, step + 1);
            truth[status] += 1;
            if (former !== undefined) truth[former] -= 1;
            // Requests on one topic, the rest on another.
            const slot = step === 0 ? 1 : 2;
            const numbers = ids[row] ?? [];
            numbers[slot] = (numbers[slot] ?? 0) + 1;
            const place = { part: row * 3 + slot, value: numbers[slot] };
            told.push(() => void live.changed([change(id, status, place)]));
            const answer = { ...truth };
            const position = idText();
            const answered = () => void live.answered(answer, position);
            // An answer may come before or after what the stream tells of the same moment.
            if (answers === 1) answered();
            if (answers === 2) told.push(answered);
            if (told.length > late) {
              for (const tell of told) tell();
              told = [];
            }
          }
          for (const tell of told) tell();
          expect(live.changed([])).toEqual(truth);
        },
      ),
    );
  });
});

describe('the difference of two texts', () => {
  it('gives either text back, and what they have in common once', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map((all) => all.join('\n'));
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const found = lineDiff(before, after) ?? [];
        const without = (kind: string) => found.flatMap((line) => (line.kind === kind ? [] : [line.text])).join('\n');
        expect([without('added'), without('removed')]).toEqual([before, after]);
      }),
    );
    expect(lineDiff('a\nb\nc', 'a\nx\nc')?.map(({ kind }) => kind)).toEqual(['same', 'removed', 'added', 'same']);
    expect(lineDiff('\n'.repeat(3000), '')).toBeNull();
  });

  it('an error says where it is', () => {
    expect(placeIn('body: {% if %} has no condition at line 2, column 4.')).toEqual({ line: 2, column: 4 });
    expect(placeIn('is required')).toBeNull();
  });
});

describe('a request as a program sends it', () => {
  const draft = { ...emptyDraft, recipient: ' ada ', body: 'It\'s "here" \\ $HOME `x`', data: '{"n":1}' };

  it('is what the form says, without what it leaves empty', () => {
    expect(requestOf(draft)).toEqual({
      request: { channel: 'IN_APP', recipient: 'ada', body: draft.body, data: { n: 1 } },
      problem: null,
    });
    expect(requestOf({ ...draft, template: 'welcome' }).request).not.toHaveProperty('body');
    expect(requestOf({ ...draft, data: '[1]' }).problem).toContain('object');
  });

  it('says by escapes what could not be seen, and means the same', () => {
    const request = { body: 'evil\u202e\u200b\u{e0041}\n👩‍👧' };
    const text = curlOf(request, '/').replace(/^[\s\S]* -d /, '');
    expect(text).toContain('evil\\u202e\\u200b\\udb40\\udc41\\n👩‍👧');
    expect(JSON.parse(text.slice(1, -1))).toEqual(request);
    expect(typescriptOf(request, '/')).toContain('body: "evil\\u202e');
  });

  it('comes out of a shell as it went in', () => {
    const { request } = requestOf(draft);
    const echoed = curlOf(request, 'http://127.0.0.1:3000/api/v1/').replace(/^[\s\S]* -d /, 'printf %s ');
    expect(JSON.parse(execFileSync('sh', ['-c', echoed], { encoding: 'utf8' }))).toEqual(request);
  });

  it('is an object of TypeScript', () => {
    const text = typescriptOf(requestOf(draft).request, 'http://127.0.0.1:3000');
    expect(text).toContain("import { createHerald } from '@herald-notifications/client';");
    expect(text).toContain('  channel: "IN_APP",');
  });
});

describe('filters and forms', () => {
  it('the filters of an address are those of a bulk retry', () => {
    expect(failedFilterOf(new URLSearchParams('status=FAILED&channel=EMAIL&metadata.order=17'))).toEqual({
      status: 'FAILED',
      channel: 'EMAIL',
      metadata: { order: '17' },
    });
  });

  it('a provider’s form gives back what is saved, numbers as numbers, and leaves out what is empty', () => {
    const field = { label: '', required: false, default: null, choices: null, min: null, max: null, help: '' };
    const fields = [
      { ...field, name: 'apiKey', path: 'apiKey', type: 'secret' as const },
      { ...field, name: 'port', path: 'config.port', type: 'integer' as const, default: 587 },
      { ...field, name: 'secure', path: 'config.secure', type: 'boolean' as const },
      { ...field, name: 'user', path: 'config.user', type: 'text' as const },
    ];
    expect(initialValues(fields, null)).toEqual({
      apiKey: '',
      'config.port': '587',
      'config.secure': '',
      'config.user': '',
    });
    const values = { apiKey: 're_••••••9Qz', 'config.port': '25', 'config.secure': 'true', 'config.user': '' };
    expect(savedBody(fields, values, {})).toEqual({ apiKey: 're_••••••9Qz', config: { port: 25, secure: true } });
  });
});

describe('a token', () => {
  it('says for whom it is, and a text that is none says nothing', () => {
    const token = `x.${Buffer.from('{"aud":["a","herald"],"name":"Zoë"}').toString('base64url')}.y`;
    expect([claimsOf(token)?.['name'], isFor(token, 'herald'), isFor(token, 'other')]).toEqual(['Zoë', true, false]);
    expect([claimsOf('abc'), claimsOf('a.b.c'), isFor('', 'herald')]).toEqual([null, null, false]);
  });
});

describe('the time line of a notification', () => {
  it('says what happened in its order, what ended it, and what is still to come', () => {
    const at = (second: number) => `2027-01-31T12:00:0${second}.000Z`;
    const notification = {
      ...({} as Parameters<typeof timelineOf>[0]),
      status: 'RETRYING' as const,
      createdAt: at(0),
      priority: 'HIGH' as const,
      template: null,
      scheduledAt: null,
      batchId: null,
      resendOf: null,
      nextRetryAt: at(9),
      expiresAt: null,
      failedAt: null,
    };
    const attempt = {
      id: 'att_1',
      attemptNumber: 1,
      status: 'FAILED' as const,
      provider: 'smtp',
      role: 'primary' as const,
      messageId: null,
      error: 'mailbox full',
      errorCode: '452',
      errorClass: 'recipient' as const,
      attemptedAt: at(1),
      waitedMs: 5,
      tookMs: 1200,
      nextRetryAt: at(9),
    };
    const steps = timelineOf(notification, [attempt], [], Date.parse(at(2)));
    expect(steps.map(({ title }) => title)).toEqual(['Accepted', 'Attempt 1: failed', 'Next try']);
    expect(steps[1]?.facts).toEqual([
      'smtp',
      'waited 5 ms',
      'took 1.2 s',
      'answer 452',
      expect.stringContaining('class recipient'),
      'it is tried again',
    ]);
    const expired = {
      ...notification,
      status: 'FAILED' as const,
      nextRetryAt: null,
      failedAt: at(3),
      lastError: 'It has expired.',
    };
    expect(timelineOf(expired, [], [], Date.parse(at(4))).map(({ title, said }) => [title, said])).toEqual([
      ['Accepted', null],
      ['Ended without an attempt', 'It has expired.'],
    ]);
  });
});

it.each([
  ['is asked for', 'notif_01k', 'QUEUED', true],
  [
    'was made later than the first of the list, though its request came too late to be told',
    'notif_01n',
    'DELIVERED',
    true,
  ],
  ['stands behind it', 'notif_01k', 'DELIVERED', false],
] as const)('there is one more in the list where a notification %s', (_, notificationId, status, isNew) => {
  const change = {
    notificationId,
    status,
    channel: 'EMAIL',
    recipient: 'ada@x.org',
    error: null,
    timestamp: '',
  } as const;
  expect(isOfOneMore(change, 'notif_01m')).toBe(isNew);
});

it('whatever is told of is one more where the list is empty', () => {
  const change = {
    notificationId: 'notif_01k',
    status: 'DELIVERED',
    channel: 'EMAIL',
    recipient: '',
    error: null,
    timestamp: '',
  } as const;
  expect(isOfOneMore(change, undefined)).toBe(true);
});

describe('a content that may be HTML', () => {
  const pieces = [
    '<p>',
    '</div>',
    '<br/>',
    '<jane@example.com>',
    '<your name>',
    '<!doctype html>',
    '<b class="x">',
    '<',
  ];

  it('is shown as HTML where the service sends it so', () => {
    const names = fc.constantFrom(
      'p',
      'TABLE',
      'svg',
      'h1',
      'strike',
      'pp',
      'name',
      'jane@example.com',
      'https://x.org',
    );
    const ends = fc.constantFrom('>', '/>', ' a="b">', '', '<');
    const tag = fc.tuple(fc.constantFrom('<', '</'), names, ends).map((parts) => parts.join(''));
    const texts = fc.array(fc.oneof(tag, fc.constantFrom(...pieces, ' ', 'a > b', '\n')), { maxLength: 5 });
    fc.assert(fc.property(texts, (parts) => expect(isHtml(parts.join(''))).toBe(isHtmlSource(parts.join('')))));
    expect(isHtml('Write to Jane <jane@example.com>')).toBe(false);
  });

  it('is looked at once, however it is made', () => {
    const started = performance.now();
    for (const piece of ['<a', '<a ', '</', '<!doctype ', '<aaaa'])
      isHtml(piece.repeat(Math.ceil((200 * 1024) / piece.length)));
    for (const piece of ['url(', 'url( ', '@import', 'url("data:image/'])
      withoutLoading(piece.repeat(Math.ceil((200 * 1024) / piece.length)));
    expect(performance.now() - started).toBeLessThan(1000);
  });

  it('has no style left that asks for a file, closed or not', () => {
    expect(withoutLoading('a{b:url(//x.org/y)} @import "z"; c{d:url( data:image/png;base64,x)}')).toBe(
      'a{b:none}  c{d:url( data:image/png;base64,x)}',
    );
    expect(withoutLoading('a{b:url(//x.org/y')).toBe('a{b:none');
  });
});
