/** Light or dark: as the system says, until the reader chooses. */
import { useEffect, useState } from 'react'
import { ofBrowser } from './kept-values.ts'

const THEME = 'holdfast-theme'

type Theme = 'light' | 'dark'

/** Before anything is drawn. */
export function applyStoredTheme(): void {
  const stored = ofBrowser.get(THEME)
  if (stored === 'light' || stored === 'dark') document.documentElement.dataset['theme'] = stored
}

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset['theme']
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

export function ThemeToggle() {
  const [theme, setTheme] = useState(currentTheme)
  useEffect(() => {
    const system = matchMedia('(prefers-color-scheme: dark)')
    const changed = (): void => setTheme(currentTheme())
    system.addEventListener('change', changed)
    return () => system.removeEventListener('change', changed)
  }, [])
  const toggle = (): void => {
    const next = currentTheme() === 'dark' ? 'light' : 'dark'
    ofBrowser.set(THEME, next)
    document.documentElement.dataset['theme'] = next
    setTheme(next)
  }
  return (
    <button
      type="button"
      className="quiet"
      onClick={toggle}
      aria-label="Dark colours"
      aria-pressed={theme === 'dark'}
    >
      {theme === 'dark' ? '☀' : '☾'}
    </button>
  )
}
