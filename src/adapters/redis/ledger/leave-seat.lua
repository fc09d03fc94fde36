-- KEYS[1]: the owner of each seat. ARGV[1]: the owner that leaves.
local fields = redis.call('HGETALL', KEYS[1])
for index = 1, #fields, 2 do
  if string.match(fields[index + 1], '^%S+') == ARGV[1] then redis.call('HDEL', KEYS[1], fields[index]) end
end
return 1
