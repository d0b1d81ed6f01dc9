-- form: the form that the results of a queue must fit.   reads only
-- FLAGS  no-writes
-- KEYS   settings hash · form hash
-- ARGV   -
-- REPLY  {digest of its text, in hex ('' = the queue has none), its text}
return function(q)
  return {redis.call('HGET', q.settings, 'result_schema_sha256') or '', redis.call('HGET', q.form, 'text') or ''}
end
