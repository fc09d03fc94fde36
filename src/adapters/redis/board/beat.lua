-- ARGV: joins, info, epoch, version, the most changes.
local joins, info, version, most = ARGV[5] == '1', ARGV[6], tonumber(ARGV[8]), tonumber(ARGV[9])
if not isAlive(session) and not joins then return {'lost', ms(now), place} end
local last, lastJoined, lastLasts = trialOf(nameOf(session))
if last ~= session then
  -- All who wait for a new board are past their trial when it opens.
  local lasts = opensIn > 0 and opensIn or ttl
  local ends = last and endOf(last)
  -- It did not leave in order. Until its last beat it lived.
  if ends and ends - ttl < lastJoined + lastLasts + 10 * ttl then
    lasts = math.min(32 * ttl, math.max(ttl, 2 * lastLasts))
  end
  redis.call('HSET', trials, nameOf(session), session .. ' ' .. ms(now) .. ' ' .. ms(lasts))
end
redis.call('ZADD', sessions, ms(now + ttl), session)
redis.call('HSET', members, session, info)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', sessions, '-inf', ms(now - 86400000))) do
  forget(old)
end
local live = {}
local found = redis.call('ZRANGEBYSCORE', sessions, '(' .. ms(now), '+inf', 'WITHSCORES')
for index = 1, #found, 2 do
  local number = #live
  live[number + 1] = found[index]
  live[number + 2] = ms(tonumber(found[index + 1]) - now)
  live[number + 3] = redis.call('HGET', members, found[index])
  local _, joined, lasts = trialOf(nameOf(found[index]))
  live[number + 4] = ms(joined and math.max(0, joined + lasts - now) or 0)
end
local isWhole = ARGV[7] ~= place
local since = isWhole and 0 or version
local sent = {}
local later = redis.call('ZRANGEBYSCORE', changes, '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, most + 1)
for index = 1, math.min(#later, most * 2), 2 do
  local holder = redis.call('HGET', holders, later[index])
  sent[index] = later[index]
  sent[index + 1] = string.sub(holder, 1, 1) == '@' and '' or holder
  since = later[index + 1]
end
return {'beat', ms(now), place, ms(opensIn), live, isWhole and '1' or '0', sent, tostring(since),
  #later > most * 2 and '1' or '0'}
