// A refusal as the API said it.

import { visible } from '../format.ts';
import type { ApiProblem } from '../problem.ts';

export function ProblemNote({ problem, onRetry }: { readonly problem: ApiProblem; readonly onRetry?: () => void }) {
  const { message, details, requestId, retryAfterSeconds } = problem;
  const others = details.filter((detail) => !message.includes(detail.message));
  return (
    <div class="problem" role="alert">
      <p>{visible(message)}</p>
      {others.length > 0 && (
        <ul>
          {others.map(({ path, message: said }) => (
            <li key={path}>
              <code>{visible(path)}</code> {visible(said)}
            </li>
          ))}
        </ul>
      )}
      {retryAfterSeconds !== null && <p>It may be asked again in {retryAfterSeconds} s.</p>}
      {requestId !== null && (
        <p class="note">
          Request <code>{requestId}</code>
        </p>
      )}
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
