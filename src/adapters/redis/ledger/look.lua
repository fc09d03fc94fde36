-- ARGV[2]: 1 if the clock was stepped, so that nothing stored here can be trusted.
begin(ARGV[2] == '1')
keepForAWhile()
return answer()
