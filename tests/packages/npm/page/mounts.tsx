// What happens to a component, for the stories: it is shown, taken away, replaced, and given other settings.
import { StrictMode, useState, version } from 'react'
import { createRoot } from 'react-dom/client'
import { useDesk, useFinalIn, type Desk as View, type DeskSettings } from 'intray-client/react'

type Scene = { shown: boolean; key: string; settings: Partial<DeskSettings> | null }

declare global {
  interface Window {
    show(scene: Partial<Scene>): void
    views: View<string, string, string>[]
    version: string
    tokens: number
    isLoggedIn?: boolean
  }
}

const given: DeskSettings = JSON.parse(new URLSearchParams(location.search).get('settings') ?? '')
Object.assign(window, { views: [], version, tokens: 0 })

/** Names of functions for tokens that a story asks for. */
const TOKENS: Record<string, () => string | Promise<string>> = {
  throws: () => { throw new Error('log in') },
  rejects: () => Promise.reject(new Error('log in')),
  'gives nothing': () => '',
}

function withToken(settings: DeskSettings): DeskSettings {
  const token = typeof settings.token === 'string' ? TOKENS[settings.token] : undefined
  if (!token) return settings
  return { ...settings, token: () => (window.tokens++, window.isLoggedIn ? 'good' : token()) }
}

function Desk({ settings }: { settings: DeskSettings | null }) {
  const desk = useDesk<string, string, string>(settings)
  const finalIn = useFinalIn(desk.closing)
  window.views.push(desk)
  const error = desk.error instanceof Error ? desk.error.message : ''
  return (
    <main>
      <h1>{desk.job?.payload ?? 'no job'}</h1>
      <input aria-label="Text" value={desk.draft ?? ''} onChange={({ target }) => desk.save(target.value)} />
      <p>{[desk.state, desk.waiting, desk.lost?.reason, desk.lost && desk.job?.state, error].join(' | ')}</p>
      <output>{desk.closing ? `closing ${finalIn}` : 'not closing'}</output>
    </main>
  )
}

function App() {
  const [scene, put] = useState<Scene>({ shown: true, key: 'first', settings: {} })
  window.show = (news) => put((now) => ({ ...now, ...news }))
  if (!scene.shown) return <p>nobody</p>
  return <Desk key={scene.key} settings={scene.settings && withToken({ ...given, ...scene.settings })} />
}

createRoot(document.getElementById('root')!).render(<StrictMode><App /></StrictMode>)
