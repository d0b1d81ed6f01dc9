// Pages to take pictures of, and where the pictures go. Those in docs/ are taken with the fonts Liberation and Noto Color Emoji.

export function album({ browser, docs, url }) {
  const open = async (path, { width = 1280, height = 800, dark = false, touch = false } = {}) => {
    const context = await browser.newContext({
      viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', isMobile: touch, hasTouch: touch, deviceScaleFactor: touch ? 2 : 1,
    })
    const page = await context.newPage()
    await page.goto(url + path)
    return page
  }
  const save = (page, name) => page.screenshot({ path: `${docs}/${name}.png`, animations: 'disabled' })
  return { open, save }
}
