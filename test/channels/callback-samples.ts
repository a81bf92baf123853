// What providers post, as their documentation shows it; ours is the id of the notification in the place that each has for it.

export const notificationId = 'notif_01hzx5v6k2m8n4q7r9t3w5y8za';

/** https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event, custom arguments beside the fields of each event. */
export const sendgridEvents = [
  ['processed', {}],
  ['deferred', { response: '400 try again later', attempt: '5' }],
  ['delivered', { response: '250 OK' }],
  ['open', { useragent: 'Mozilla/4.0 (compatible; MSIE 6.1; Windows XP; .NET CLR 1.1.4322; .NET CLR 2.0.50727)' }],
  ['click', { url: 'http://www.sendgrid.com/' }],
  ['bounce', { reason: '500 unknown recipient', status: '5.0.0', type: 'bounce' }],
  ['bounce', { reason: '550 5.7.1 blocked', status: '5.7.1', type: 'blocked' }],
  ['dropped', { reason: 'Bounced Address', status: '5.0.0' }],
  ['spamreport', {}],
  ['unsubscribe', {}],
].map(([event, more], i) => ({
  email: 'example@test.com',
  timestamp: 1513299569 + i,
  'smtp-id': '<14c5d75ce93.dfd.64b469@ismtpd-555>',
  event,
  category: ['cat facts'],
  sg_event_id: `sg_event_id_${i}`,
  sg_message_id: '14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0',
  notificationId,
  ...(more as object),
}));

/** https://postmarkapp.com/developer/webhooks/bounce-webhook and the pages beside it. */
export const postmarkEvents = {
  bounce: {
    RecordType: 'Bounce',
    ID: 4323372036854776000,
    Type: 'HardBounce',
    TypeCode: 1,
    Name: 'Hard bounce',
    Tag: 'Test',
    MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
    ServerID: 23,
    MessageStream: 'outbound',
    Description: 'The server was unable to deliver your message (ex: unknown user, mailbox not found).',
    Details: 'Test bounce details',
    Email: 'john@example.com',
    From: 'sender@example.com',
    BouncedAt: '2014-08-01T13:28:10.2735393-04:00',
    DumpAvailable: true,
    Inactive: true,
    CanActivate: true,
    Subject: 'Test subject',
    Metadata: { notificationId },
  },
  delivery: {
    RecordType: 'Delivery',
    ServerID: 23,
    MessageStream: 'outbound',
    MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
    Recipient: 'john@example.com',
    Tag: 'welcome-email',
    DeliveredAt: '2019-11-05T16:33:54.9070259Z',
    Details: 'Test delivery webhook details',
    Metadata: { notificationId },
  },
  complaint: {
    RecordType: 'SpamComplaint',
    ID: 42,
    Type: 'SpamComplaint',
    TypeCode: 100001,
    MessageID: '00000000-0000-0000-0000-000000000000',
    Email: 'john@example.com',
    BouncedAt: '2019-11-05T16:33:54.9070259Z',
    Metadata: { notificationId },
  },
  open: {
    RecordType: 'Open',
    FirstOpen: true,
    MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
    Recipient: 'john@example.com',
    ReceivedAt: '2019-11-05T16:33:54.9070259Z',
    Metadata: { notificationId },
  },
  click: {
    RecordType: 'Click',
    ClickLocation: 'HTML',
    OriginalLink: 'https://example.com/reset?token=secret',
    MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
    Recipient: 'john@example.com',
    ReceivedAt: '2017-10-25T15:21:11.9065619Z',
    Metadata: { notificationId },
  },
  autoResponder: {
    RecordType: 'Bounce',
    ID: 43,
    Type: 'AutoResponder',
    TypeCode: 64,
    Email: 'john@example.com',
    BouncedAt: '2019-11-05T16:33:54.9070259Z',
    Metadata: { notificationId },
  },
};

/** https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-payloads; `...Before`: as it showed them before 2026. */
export const mailgunEvents = {
  delivered: {
    event: 'delivered',
    id: 'MXcc2gEpS-eN8HfkOnmK2w',
    timestamp: 1770146431.6585283,
    recipient: 'recipient@sample.mailgun.com',
    'delivery-status': {
      'attempt-no': 1,
      code: 250,
      message: 'OK',
      description: null,
      'session-seconds': 1.276,
      'enhanced-code': null,
      'mx-host': 'mailgun-com.mail.protection.outlook.com',
    },
    'user-variables': { notificationId },
  },
  permanent: {
    event: 'failed',
    id: '2kFItcrLQuKTdp-Ia2Xr7w',
    timestamp: 1770918175.5923693,
    severity: 'permanent',
    reason: 'bounce',
    recipient: 'badrecipient@sample.mailgun.com',
    'delivery-status': {
      'attempt-no': 1,
      code: 550,
      message: '5.5.0 Requested action not taken: mailbox unavailable (S2017062302).',
      description: null,
      'enhanced-code': '5.5.0',
      'bounce-type': 'hard',
    },
    'user-variables': { notificationId },
  },
  temporary: {
    event: 'failed',
    id: 'YusK9KhoTwe2C00iRxsEqQ',
    timestamp: 1770919267.4288595,
    severity: 'temporary',
    reason: 'generic',
    recipient: 'tempfailrecipient@sample.mailgun.com',
    'delivery-status': { code: 421, message: 'retry later', description: null, 'retry-seconds': 600 },
    'user-variables': { notificationId },
  },
  /** Sent by something else. */
  foreign: {
    event: 'opened',
    id: 'q7DMpbLFRKW1QuiLC9XV4Q',
    timestamp: 1770327074.5549328,
    recipient: 'recipient@sample.mailgun.com',
    'user-variables': [],
  },
  deliveredBefore: {
    event: 'delivered',
    id: 'CPgfbmQMTCKtHW6uIWtuVe',
    timestamp: 1521472262.908181,
    recipient: 'alice@example.com',
    'delivery-status': { code: 250, message: 'OK', description: '' },
    'user-variables': { notificationId },
  },
  permanentBefore: {
    event: 'failed',
    id: 'G9Bn5sl1TC6nu79C8C0bwg',
    timestamp: 1521233195.375624,
    severity: 'permanent',
    reason: 'suppress-bounce',
    recipient: 'alice@example.com',
    'delivery-status': { code: 605, message: '', description: 'Not delivering to previously bounced address' },
    'user-variables': { notificationId },
  },
  temporaryBefore: {
    event: 'failed',
    id: 'Fs7-5t81S2ispqxqDw2U4Q',
    timestamp: 1521472262.908181,
    severity: 'temporary',
    reason: 'generic',
    recipient: 'alice@example.com',
    'delivery-status': { code: 452, message: '4.2.2 The email account is over quota', description: '' },
    'user-variables': { notificationId },
  },
  complained: {
    event: 'complained',
    id: '-Agny091SquKnsrW2NEKUA',
    timestamp: 1521233123.501324,
    recipient: 'alice@example.com',
    'user-variables': { notificationId },
  },
};

/** https://resend.com/docs/webhooks/emails/bounced */
export const resendBounce = {
  type: 'email.bounced',
  created_at: '2026-11-22T23:41:12.126Z',
  data: {
    broadcast_id: '8b146471-e88e-4322-86af-016cd36fd216',
    created_at: '2026-11-22T23:41:11.894719+00:00',
    email_id: '56761188-7520-42d8-8898-ff6fc54ce618',
    from: 'Acme <onboarding@resend.dev>',
    to: ['delivered@resend.dev'],
    subject: 'Sending this example',
    template_id: '43f68331-0622-4e15-8202-246a0388854b',
    bounce: {
      message:
        "The recipient's email address is on the suppression list because it has a recent history of hard bounces.",
      subType: 'Suppressed',
      type: 'Permanent',
    },
    tags: { notificationId },
  },
};

/** https://resend.com/docs/webhooks/emails/failed, .../suppressed: a mail that was taken, and isn't sent. */
export const resendUnsent = [
  {
    ...resendBounce,
    type: 'email.failed',
    data: { ...resendBounce.data, bounce: undefined, failed: { reason: 'reached_daily_quota' } },
  },
  {
    ...resendBounce,
    type: 'email.suppressed',
    data: {
      ...resendBounce.data,
      bounce: undefined,
      suppressed: {
        message: 'Resend has suppressed sending to this address because it is on the account-level suppression list.',
        type: 'OnAccountSuppressionList',
      },
    },
  },
];

/** https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-examples.html */
const sesMail = {
  timestamp: '2017-08-05T00:40:02.012Z',
  source: 'Sender Name <sender@example.com>',
  sourceArn: 'arn:aws:ses:us-east-1:123456789012:identity/sender@example.com',
  sendingAccountId: '123456789012',
  messageId: 'EXAMPLE7c191be45-e9aedb9a-02f9-4d12-a87d-dd0099a07f8a-000000',
  destination: ['recipient@example.com'],
  headersTruncated: false,
  tags: { 'ses:configuration-set': ['ConfigSet'], notificationId: [notificationId] },
};
const sesBounce = {
  bounceType: 'Permanent',
  bounceSubType: 'General',
  bouncedRecipients: [
    {
      emailAddress: 'recipient@example.com',
      action: 'failed',
      status: '5.1.1',
      diagnosticCode: 'smtp; 550 5.1.1 user unknown',
    },
  ],
  timestamp: '2017-08-05T00:41:02.669Z',
  feedbackId: '01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000',
  reportingMTA: 'dsn; mta.example.com',
};
export const sesEvents = {
  bounce: {
    eventType: 'Bounce',
    bounce: sesBounce,
    mail: sesMail,
  },
  complaint: {
    eventType: 'Complaint',
    complaint: {
      complainedRecipients: [{ emailAddress: 'recipient@example.com' }],
      timestamp: '2017-08-05T00:41:02.669Z',
      feedbackId: '01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000',
      complaintFeedbackType: 'abuse',
    },
    mail: sesMail,
  },
  delivery: {
    eventType: 'Delivery',
    mail: sesMail,
    delivery: {
      timestamp: '2016-10-19T23:21:04.133Z',
      processingTimeMillis: 11893,
      recipients: ['recipient@example.com'],
      smtpResponse: '250 2.6.0 Message received',
      reportingMTA: 'mta.example.com',
    },
  },
  open: { eventType: 'Open', mail: sesMail, open: { ipAddress: '192.0.2.1', timestamp: '2017-08-09T22:00:19.652Z' } },
  click: {
    eventType: 'Click',
    click: { ipAddress: '192.0.2.1', link: 'http://docs.aws.amazon.com/', timestamp: '2017-08-09T23:51:25.570Z' },
    mail: sesMail,
  },
  reject: { eventType: 'Reject', mail: sesMail, reject: { reason: 'Bad content' } },
  send: { eventType: 'Send', mail: sesMail, send: {} },
  /** Of an identity: without tags. */
  identity: { notificationType: 'Bounce', bounce: sesBounce, mail: { ...sesMail, tags: undefined } },
};
