// What the service must serve beside its interface.

/** Of the console and the demo. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

export const isPage = (path) => /^\/(console|demo)(\/|$)|^\/client\.(js|d\.ts)$/.test(path)
