// A site that uses the module: another origin than the service's, under a strict policy.
import { createReadStream } from 'node:fs'
import http from 'node:http'
import { printed } from './printed.js'

const files = {
  '/': ['desk.html', 'text/html'],
  '/desk.js': ['desk.js', 'text/javascript'],
  '/elsewhere': ['elsewhere.html', 'text/html'],
}
const policy = [
  "default-src 'none'",
  "script-src 'self' http://127.0.0.1:*",
  'connect-src http://127.0.0.1:*',
  "require-trusted-types-for 'script'",
].join('; ')

/** Its names are two origins that have nothing in common: two machines, for a browser. Or a third one, without a secure context. */
const HOSTS = { here: 'localhost', there: '127.0.0.1', plain: 'desk.test' }

export async function startPages() {
  const site = { module: null } // where the module is
  const server = http.createServer(({ url }, response) => {
    if (url === '/client.js') return response.writeHead(302, { location: site.module }).end()
    if (url === '/example') return response.writeHead(200, { 'content-type': 'text/html' }).end(printed('web/client/README.md', site.module))
    const name = /^\/printed\?(.*)/.exec(url)?.[1]
    if (name) return response.writeHead(200, { 'content-type': 'text/html' }).end(printed(decodeURIComponent(name), site.module))
    const [file, type] = files[new URL(url, 'http://pages').pathname] ?? []
    if (!file) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, 'content-security-policy': policy })
    createReadStream(new URL(file, import.meta.url)).pipe(response)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  const origins = Object.entries(HOSTS).map(([name, host]) => [name, `http://${host}:${server.address().port}`])
  return Object.assign(site, { origins: Object.fromEntries(origins), stop })
}
