-- ARGV[2]: what was settled, as JSON. ARGV[3]: how long ago.
begin(false)
local settled, ago = cjson.decode(ARGV[2]), tonumber(ARGV[3])
if settled.settlement == 'unsent' then
  if redis.call('ZREM', LEASES, settled.lease) == 1 then
    free()
    if terms.quota ~= nil then count(now - ago - settled.heldMs, -1) end
  end
else
  local linger = settled.settlement == 'unanswered' and terms.lingerMs or 0
  redis.call('ZADD', LEASES, num(now - ago + linger + CLOCK_STEP), settled.lease)
  dropEnded()
  if ago > 0 then free() end
end
set('latest', now)
return answer()
