redis.call('HSET', KEYS[1], unpack(ARGV))
return {'published'}
