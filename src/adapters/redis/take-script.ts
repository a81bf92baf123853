// A take as one Lua script, which Redis runs whole: the window's count, and what it becomes.

/**
 * KEYS[1] the counter; ARGV as rate-limiter-flexible gives them: cost, for how many windows the counter lives (in the place of its "custom duration"), limit,
 * window in seconds. Answers {what the window's count is or would be with this take, ms until the window ends}.
 *
 * What is refused writes nothing, so it costs nobody anything and puts no window off. A counter is written together with
 * its expiry; one that has none (which nothing here makes) begins a new window.
 *
 * One script for both kinds: the library gives the connection a single command, whose script is that of the limiter that was made last.
 */
export const takeScript = `
local cost = tonumber(ARGV[1])
local limit = tonumber(ARGV[3])
local window = math.floor(tonumber(ARGV[4]) * 1000 + 0.5)
local kept = (tonumber(ARGV[2]) - 1) * window
local consumed = tonumber(redis.call('get', KEYS[1]) or '0') or 0
local ttl = redis.call('pttl', KEYS[1])
local left = ttl - kept
local isNew = left < 0
if isNew then
  consumed = 0
  left = ttl > 0 and left + window or window
end
if consumed + cost <= limit then
  if isNew then
    redis.call('set', KEYS[1], ARGV[1], 'PX', left + kept)
  else
    redis.call('incrby', KEYS[1], ARGV[1])
  end
end
return {consumed + cost, left}`;

/** Of a kind the windows for which a counter lives: what is left of a second one says when the first ended, and the next begins there. The clock of Redis alone is asked. */
export const windowsKept = { take: 1, pace: 2 } as const;
