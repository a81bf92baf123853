// The routes of the API as an Express router: each path with its methods, and 405 for the others.

import type { Router } from 'express';
import express from 'express';

import type { Cors } from './cors.ts';
import type { Route } from './endpoint.ts';
import type { Serve } from './pipeline.ts';
import { refuseMethod } from './refuse-method.ts';

/** Every path with its methods; the others get 405 and Allow. */
export function routerOf(routes: readonly Route[], pipeline: (route: Route) => Serve, cors: Cors): Router {
  const router = express.Router();
  for (const [path, here] of Map.groupBy(routes, (route) => route.path)) {
    const allowed = allowedMethods(here);
    const isForBrowsers = here.some((route) => route.auth !== 'apiKey');
    const at = router.route(path);
    at.all((req, res, next) => {
      res.locals['route'] = path;
      if (!isForBrowsers) res.locals['challenge'] = 'ApiKey';
      if (isForBrowsers) cors(req, res, allowed);
      next();
    });
    for (const route of here) {
      const serve = pipeline(route);
      at[methodNames[route.method]]((req, res) => serve(req, res));
    }
    at.all((req, res) => refuseMethod(req, res, allowed));
  }
  router.all('/notify', (req, res) => {
    res.locals['route'] = '/notify';
    refuseMethod(req, res, 'POST');
  });
  return router;
}

const methodNames = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;

function allowedMethods(routes: readonly Route[]): string {
  return routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');
}
