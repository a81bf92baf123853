# Herald as an image: dependencies in one stage, the program alone in the other.

FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional ones bring Node itself along, for machines whose own is older.
RUN npm ci --omit=dev --omit=optional

# What browsers load, built of its sources: the image has neither those nor the bundler's binary.
FROM node:24.21.0-bookworm-slim AS web
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev
COPY bin bin
COPY src src
COPY dashboard dashboard
COPY clients clients
RUN node bin/build-web.js

FROM node:24.21.0-bookworm-slim
# Nothing is installed from here on.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn* /usr/local/bin/yarn* \
  && install --directory --owner=node --group=node --mode=700 /data
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY schemas schemas
COPY src src
COPY --from=web /app/build build
ENV HOST=0.0.0.0 DATA_DIR=/data
USER node
VOLUME /data
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT || 9464}/health/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=8", "bin/herald.js"]
CMD ["serve"]
