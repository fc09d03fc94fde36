-- One quota in its units, by hour and name. A count is never lowered, but by its holder, who knows what it did not send.
local key = KEYS[1]
local ask = cjson.decode(ARGV[1])
local function field(hour) return string.format('%.0f', hour) .. ' ' .. ask.name end
for _, used in ipairs(ask.used) do
  local before = tonumber(redis.call('HGET', key, field(used.hour)) or '0')
  -- What came meanwhile is another's, and stays.
  local count = used.drawn == before and used.count or math.max(before, used.count)
  redis.call('HSET', key, field(used.hour), num(count))
end
local total, own = 0, {}
local all = redis.call('HGETALL', key)
for index = 1, #all, 2 do
  local hour, name = string.match(all[index], '^(%d+) (.*)$')
  local count = tonumber(all[index + 1])
  if tonumber(hour) < ask.oldestHour then redis.call('HDEL', key, all[index])
  else
    total = total + count
    if name == ask.name then own[tonumber(hour)] = count end
  end
end
for _, wanted in ipairs(ask.upTo) do
  local before = own[wanted[1]] or 0
  local more = math.min(wanted[2] - before, ask.limit - total)
  if more > 0 then
    total = total + more
    own[wanted[1]] = before + more
    redis.call('HSET', key, field(wanted[1]), num(before + more))
  end
end
-- As text: cjson keeps 14 digits of a number, and money has more.
local counts = {}
for hour, count in pairs(own) do counts[#counts + 1] = {num(hour), num(count)} end
return cjson.encode({own = counts, total = num(total)})
