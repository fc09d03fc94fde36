-- Runs before every call to the board. `now`, in ms, and `run` are set by the code in front of this.
-- The board has a clock of its own: it advances by as much as the server's, but between two calls by less than the
-- part of a session that its holder does not trust. So a server's clock that is stepped ends no session too early.
local clock, sessions, members, holders, starts, pauses, records, parts = unpack(KEYS)
local ask = cjson.decode(ARGV[1])
local DAY, STEP, TRUSTED, LIVES = 86400000, 0.19, 0.8, 30
local ttl, session = ask.ttlMs, ask.session
local known = redis.call('HMGET', clock, 'run', 'at', 'seen', 'opens', 'memory')
local at, opens, memory = tonumber(known[2]), tonumber(known[4]), known[5]
if known[1] == run then
  at = at + math.max(0, math.min(now - tonumber(known[3]), ttl * STEP))
else
  -- Another server, one that was restarted, or an emptied one: what it knows may be old.
  at = math.max(at or 0, now)
  opens, memory = at + ttl, run .. '@' .. num(now)
  redis.call('DEL', sessions, members, holders, starts)
  redis.call('HSET', clock, 'run', run, 'opens', num(opens), 'memory', memory)
end
redis.call('HSET', clock, 'at', num(at), 'seen', num(now))
local opensIn = math.max(0, opens - at)
local function endOf(name)
  local score = redis.call('ZSCORE', sessions, name)
  return score and tonumber(score)
end
local function isAlive(name)
  local ends = endOf(name)
  return ends and ends > at
end
local function processOf(name) return string.match(name, '^(.*)%.') end
local function nameOf(name) return string.match(name, '^[^#]*') end
local function fields(key)
  local found, all = redis.call('HGETALL', key), {}
  for index = 1, #found, 2 do all[found[index]] = found[index + 1] end
  return all
end
local function set(name, holder)
  redis.call('HSET', holders, name, holder)
  redis.call('HINCRBY', clock, 'version', 1)
end
