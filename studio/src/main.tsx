/** Starts the page. */
import './style.css'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyStoredTheme } from './theme.tsx'

applyStoredTheme()
const root = document.getElementById('root')
if (root !== null) createRoot(root).render(<App />)
