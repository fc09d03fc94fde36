-- KEYS[1]: who sits where. ARGV[1]: who leaves.
local fields = redis.call('HGETALL', KEYS[1])
for index = 1, #fields, 2 do
  if string.match(fields[index + 1], '^%S+') == ARGV[1] then redis.call('HDEL', KEYS[1], fields[index]) end
end
return 1
