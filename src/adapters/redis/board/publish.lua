-- KEYS: the states, and when each was published. ARGV: for how long they are kept, then names and states.
local keptMs = tonumber(ARGV[1])
for index = 2, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
  redis.call('ZADD', KEYS[2], num(now), ARGV[index])
end
for _, old in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', num(now - keptMs), 'LIMIT', 0, 1000)) do
  redis.call('HDEL', KEYS[1], old)
  redis.call('ZREM', KEYS[2], old)
end
redis.call('PEXPIRE', KEYS[1], keptMs)
redis.call('PEXPIRE', KEYS[2], keptMs)
return {'published'}
