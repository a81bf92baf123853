// The documentation of every route; a route without one, or one without its route, doesn't compile.

import type { RouteName } from '../routes.ts';
import { batchDocs } from './batches.ts';
import { callbackDocs } from './callbacks.ts';
import { historyDocs } from './history.ts';
import { inboxDocs } from './inbox.ts';
import { jobDocs } from './jobs.ts';
import { keyDocs } from './keys.ts';
import { logDocs } from './log.ts';
import type { OperationDocs } from './operation.ts';
import { providerDocs } from './providers.ts';
import { statisticsDocs } from './statistics.ts';
import { suppressionDocs } from './suppressions.ts';
import { templateDocs } from './templates.ts';
import { tenantDocs } from './tenant.ts';

export const documentation: Readonly<Record<RouteName, OperationDocs>> = {
  'GET /notify/:id': logDocs.showByKey,
  'POST /notify/batch': batchDocs.create,
  'GET /notify/batch/:id': batchDocs.show,
  'POST /notify/batch/:id/cancel': jobDocs.cancelBatch,
  'POST /notify/batch/:id/retry': jobDocs.retryBatch,
  'GET /jobs/:id': jobDocs.show,
  'DELETE /jobs/:id': jobDocs.stop,
  'POST /notify/inapp/:userId/token': inboxDocs.token,
  'GET /notify/inapp/:userId': inboxDocs.list,
  'POST /notify/inapp/:userId/read': inboxDocs.read,
  'GET /notify/inapp/:userId/stream': inboxDocs.stream,
  'POST /auth/provision-tenant': tenantDocs.provision,
  'POST /auth/regenerate-key': tenantDocs.regenerateKey,
  'GET /tenant': tenantDocs.show,
  'GET /refusals': tenantDocs.refusals,
  'GET /keys': keyDocs.list,
  'POST /keys': keyDocs.create,
  'DELETE /keys/:id': keyDocs.remove,
  'GET /providers': providerDocs.list,
  'POST /providers': providerDocs.save,
  'GET /providers/catalog': providerDocs.catalog,
  'POST /providers/:channel/test': providerDocs.test,
  'DELETE /providers/:channel': providerDocs.remove,
  'GET /templates': templateDocs.list,
  'POST /templates': templateDocs.create,
  'PUT /templates/:id': templateDocs.update,
  'DELETE /templates/:id': templateDocs.remove,
  'POST /templates/preview': templateDocs.previewText,
  'GET /templates/:id/versions': templateDocs.versions,
  'GET /templates/:id/versions/:version': templateDocs.version,
  'POST /templates/:id/preview': templateDocs.preview,
  'GET /notifications': logDocs.list,
  'GET /notifications.csv': historyDocs.csv,
  'GET /events': historyDocs.list,
  'GET /notifications/:id': logDocs.show,
  'GET /notifications/:id/attempts': logDocs.attempts,
  'POST /notifications/retry': jobDocs.retryMany,
  'POST /notifications/:id/retry': logDocs.retry,
  'POST /notifications/:id/resend': logDocs.resend,
  'POST /notifications/:id/cancel': logDocs.cancel,
  'GET /suppressions': suppressionDocs.list,
  'POST /suppressions': suppressionDocs.create,
  'DELETE /suppressions/:id': suppressionDocs.remove,
  'DELETE /recipients/:channel/:recipient': jobDocs.eraseRecipient,
  'POST /callbacks/:provider/:token': callbackDocs.receive,
  'GET /dashboard/stats': statisticsDocs.stats,
  'GET /dashboard/failures': statisticsDocs.failures,
  'GET /dashboard/stream': statisticsDocs.stream,
};
