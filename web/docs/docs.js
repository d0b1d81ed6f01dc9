// As light or dark as whoever reads wants it.
const dark = matchMedia('(prefers-color-scheme: dark)')
const follow = () => document.querySelector('rapi-doc').setAttribute('theme', dark.matches ? 'dark' : 'light')
dark.addEventListener('change', follow)
follow()
