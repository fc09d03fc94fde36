-- One quota in its units, by hour and name. A count is lowered only by who knows what it is.
local key = KEYS[1]
local ask = cjson.decode(ARGV[1])
for _, count in ipairs(ask.counts) do
  local field = string.format('%.0f', count.hour) .. ' ' .. ask.name
  local before = tonumber(redis.call('HGET', key, field) or '0')
  redis.call('HSET', key, field, num(count.from == before and count.to or math.max(before, count.to)))
end
local total, own = 0, {}
local all = redis.call('HGETALL', key)
for index = 1, #all, 2 do
  local hour, name = string.match(all[index], '^(%d+) (.*)$')
  if tonumber(hour) < ask.oldestHour then redis.call('HDEL', key, all[index])
  else
    total = total + tonumber(all[index + 1])
    if name == ask.name then own[#own + 1] = {hour, all[index + 1]} end
  end
end
-- As text: cjson keeps 14 digits of a number, and money has more.
return cjson.encode({own = own, total = num(total)})
