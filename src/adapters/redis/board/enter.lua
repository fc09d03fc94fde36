-- Runs before every call to the board: is this the known board, and is its clock right?
-- `now` and `run` are set by the code in front of this.
local epoch, sessions, members, holders, changes, trials = unpack(KEYS)
local session, ttl, expected, sure = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
-- Lua by itself drops the last digits of milliseconds.
local function ms(number) return string.format('%.3f', number) end
local known = redis.call('HMGET', epoch, 'run', 'began', 'opens', 'last')
-- Further ahead than this: the clock was stepped, or the message is late.
local tolerance = ttl * 0.1
local isAhead = expected >= 0 and now > expected + tolerance
local isKnown = known[1] == run and now >= tonumber(known[4]) - tolerance
if isKnown and isAhead and not sure then return {'stepped'} end
local began, opens = known[2], tonumber(known[3] or '0')
if not isKnown or isAhead then
  redis.call('DEL', epoch, sessions, members, holders, changes, trials)
  began, opens = ms(now), now + ttl
  redis.call('HSET', epoch, 'run', run, 'began', began, 'opens', ms(opens), 'version', 0)
end
redis.call('HSET', epoch, 'last', ms(now))
-- Identifies this board: another epoch has lost its data.
local place = run .. '@' .. began
local opensIn = math.max(0, opens - now)
local function endOf(name)
  local score = redis.call('ZSCORE', sessions, name)
  return score and tonumber(score)
end
local function isAlive(name)
  local ends = endOf(name)
  return ends and ends > now
end
local function nameOf(of) return string.match(of, '^[^#]*') end
-- By name: its last session, when that joined, and how long it is on trial.
local function trialOf(name)
  local last, joined, lasts = string.match(redis.call('HGET', trials, name) or '', '^(%S+) (%S+) (%S+)$')
  return last, tonumber(joined), tonumber(lasts)
end
local function forget(of)
  redis.call('ZREM', sessions, of)
  redis.call('HDEL', members, of)
  if trialOf(nameOf(of)) == of then redis.call('HDEL', trials, nameOf(of)) end
end
local function set(upstream, holder)
  redis.call('HSET', holders, upstream, holder)
  redis.call('ZADD', changes, redis.call('HINCRBY', epoch, 'version', 1), upstream)
end
