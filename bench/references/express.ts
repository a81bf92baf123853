// Reference (a): an Express 5 app with express.json that answers 202 and does nothing.

import express from 'express';
import type { AddressInfo } from 'node:net';

const app = express();
app.use(express.json());
app.post('/api/v1/notify', (_request, response) => {
  response.status(202).json({ notificationId: 'notif_00000000000000000000000000', status: 'queued' });
});
// Without its parent it has nothing to do.
process.on('disconnect', () => process.exit());

const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
