-- job: all that is known of one job.   reads only
-- FLAGS  no-writes
-- USES   view
-- ARGV   id
-- REPLY  {id, record, payload, live record, result, score in its set, late results …} | {'unknown'}
return view(ARGV[1]) or {'unknown'}
