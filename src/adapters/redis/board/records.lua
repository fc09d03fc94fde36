-- Does not enter: who looks at a page must neither hold up the board's clock nor open a board that was emptied.
local clock, records = KEYS[1], KEYS[7]
local oldest = tonumber(redis.call('HGET', clock, 'at') or '0') - 86400000
local all, found = redis.call('HGETALL', records), {}
for index = 1, #all, 2 do
  local name, stamp, text = all[index], string.match(all[index + 1], '^(%S+) (.*)$')
  if string.sub(name, 1, 2) ~= 'b:' then
    if tonumber(stamp) < oldest then redis.call('HDEL', records, name) else found[#found + 1] = {name, text} end
  end
end
return cjson.encode({records = found})
