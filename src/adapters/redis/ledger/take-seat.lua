-- KEYS[1]: the owner of each seat, and until when. ARGV: number of seats, owner, for how long.
local seats, owner, forMs = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local free
for seat = 1, seats do
  local holder, untilMs = string.match(redis.call('HGET', KEYS[1], seat) or '', '^(%S+) (%S+)$')
  if holder == owner then
    free = seat
    break
  end
  if free == nil and (holder == nil or tonumber(untilMs) <= now) then free = seat end
end
if free == nil then return 0 end
redis.call('HSET', KEYS[1], free, owner .. ' ' .. num(now + forMs))
redis.call('PEXPIRE', KEYS[1], forMs)
return free
