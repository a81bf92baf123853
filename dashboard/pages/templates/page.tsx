// Templates: the list of them, or the editor of one.

import { allTemplates } from '../../api.ts';
import { channelName, visible } from '../../format.ts';
import { linkTo, route } from '../../router.ts';
import { Time } from '../../ui/marks.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { useAnswer } from '../../ui/use-answer.ts';
import type { Template } from '../../wire.ts';
import { Editor } from './editor.tsx';

/** In place of an id. */
const newId = 'new';

export function TemplatesPage() {
  const { id } = route.value;
  const { value: templates, problem, reload } = useAnswer(allTemplates, '');
  const shown = templates?.find((template) => template.id === id) ?? null;
  if (id !== null && (id === newId || shown !== null))
    return <Editor key={id} template={shown} onSaved={reload} onStale={reload} />;
  return (
    <>
      <div class="head">
        <h1>Templates</h1>
        <a class="button" href={linkTo('templates', newId)}>
          New template
        </a>
      </div>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {id !== null && templates !== null && <p role="status">There is no template of the id {visible(id)}.</p>}
      {templates?.length === 0 && (
        <div class="card empty">
          <p>None yet. A template is a text with placeholders that requests name.</p>
        </div>
      )}
      {templates !== null && templates.length > 0 && <List templates={templates} />}
    </>
  );
}

function List({ templates }: { readonly templates: readonly Template[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Templates">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Channel</th>
            <th scope="col">Subject</th>
            <th scope="col" class="number">
              Version
            </th>
            <th scope="col">Changed</th>
          </tr>
        </thead>
        <tbody>
          {templates.map(({ id, name, channel, subject, version, updatedAt }) => (
            <tr key={id}>
              <td>
                <a href={linkTo('templates', id)}>{name}</a>
              </td>
              <td>{channelName(channel)}</td>
              <td>
                <bdi>{subject === null ? '–' : visible(subject)}</bdi>
              </td>
              <td class="number">{version}</td>
              <td>
                <Time at={updatedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
