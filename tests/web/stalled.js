// A reporter: the files in which a story failed and the machine stood still (world/stalls.js), a line each. Nothing if another failed.
export default async function* stalled(events) {
  const stood = new Set()
  const failed = new Set()
  for await (const { type, data } of events) {
    if (type === 'test:stdout' && /^the machine stood still for /m.test(data.message)) stood.add(data.file)
    if (type === 'test:fail') failed.add(data.file)
  }
  if ([...failed].every((file) => stood.has(file))) for (const file of failed) yield `${file}\n`
}
