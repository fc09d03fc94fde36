-- ARGV[2]: 1 where the clock was stepped, so that what is known here is worth nothing.
begin(ARGV[2] == '1')
keepForAWhile()
return standing()
