// The help of the command line: every command with its options.

export const usage = `Usage: npm run -s herald -- COMMAND

  serve [--role api,dispatcher,projector,scheduler]   start the service (all roles); "npm start" is the same
        [--channel email,sms,webhook,in-app]          the channels that this process delivers on (all)
        [--as-of TIME [--keep DIR] [--port 0]]        instead: the API's reads as they were then, every write refused, beside the running service; --keep leaves what was folded
        [--from beginning|end|TIME]                   where a dispatcher begins that finds no committed position (TIME: ISO 8601)
  token [--sub S] [--email E] [--name N] [--hours 12] print a bearer token of the embedded issuer (without --sub: the demo tenant's owner's)
  listen [--port 4000] [--forward URL] [--status 200] print the webhooks that are sent to this machine, their signatures checked; with the demo tenant's secret
        [--secret whsec_...] [--url URL]              unless another is given; --status 500 shows retries
  mail [--port 2525] [--url URL]                      a mail server on this machine that shows what is sent to it
  send --channel C --recipient R --body TEXT ...      send a notification to any Herald and print its id; --wait follows it to its end
  show ID [--json]                                    a notification and its attempts, as a time line
  tail [--status failed] [--channel email] ...        each change of a status as it happens; send, show and tail have a --help of their own
  --version                                           print the version
  config                                              list every setting, its value and its default
  backup DIR                                          copy the log and the settings as they stand into a folder, while the service runs
  restore DIR --pending send|hold|cancel              make DATA_DIR of a backup; what was to be sent then is sent, held as FAILED, or cancelled
  rebuild [--watch]                                   fold the read models anew from the log, beside a service that goes on where one runs; --watch: only show how far a rebuild is
  adopt                                               take log, settings and secret as they are for one another, after one of them was lost, while the service is stopped
  reconcile [--repair] [--older-than 10] [--all]      hold the log against itself and the read models: accepted, ended, waiting by tenant and hour; name what is
                                                      missing (exit code 1), take up again what nobody will send; minutes within which it may still be on its way
  dead-letters list | show PLACE | replay PLACE|all   what did not decode when it was read: where, when and why; whether it does now; append again what does.
                                                      Embedded: while the service is stopped
  rotate-secrets                                      seal all secrets anew under ENCRYPTION_SECRET, while the service runs on it and ENCRYPTION_SECRET_PREVIOUS
  tenants set ID [--weight 3] [--in-flight 64]        give a tenant other turns (1 to 100, 1 is everybody's), attempts in flight (1 to 256, or default)
                 [--retention 7d]                     and a shorter retention (from 10s, or default), while the service runs
  compact                                             write log.db and views.db anew without what is free in them, while the service is stopped: after RETENTION was set for the first time
  export --out DIR|- [--table events] [--since DIR]   the log as files of NDJSON, CSV or Parquet for whoever analyses it, while the service runs; --verify DIR counts again;
                                                      it has a --help of its own
  stats --as-of TIME --tenant ID [--range today]      what GET /dashboard/stats answered then; its parameters are options (--from, --to, --channel, --priority, --provider, --by)
  compare --as-of TIME --with TIME|live|DIR           which documents differ, by read model, field and count; exit code 1 when any does
  erase --tenant ID --recipient EMAIL:ADDRESS         forget a recipient, then look for it in the log, the read models, DATA_DIR and the folders of
        [--search DIR]                                exports that are named; exit code 1 when anything is left. Embedded: while the service is stopped.
                                                      Without --recipient the whole tenant, for good: its keys, settings, notifications and counts go
  copy-log --to kafka                                 copy the log, positions and settings of DATA_DIR into the engines of KAFKA_BROKERS and MONGODB_URL
`;
