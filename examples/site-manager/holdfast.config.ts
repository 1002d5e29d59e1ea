/**
 * A config for the terminal: the agent of a building firm, in English and in French. `npm start` talks with it, and so
 * does `holdfast chat` in this folder. It needs no key: without one, the built-in model reflex chooses tools by rules.
 */
import { join } from 'node:path'
import { defineConfig, type HoldfastConfig } from 'holdfast/config'
import { openSite } from './database.ts'
import { entities, siteTools } from './site.ts'
import { openSupplier, orderTool } from './supplier.ts'

const folder = process.env['HOLDFAST_HOME'] ?? join(import.meta.dirname, '.holdfast')
const CONFIRM_MS = 2000
const tools = [
  ...siteTools(openSite(join(folder, 'site.db'))),
  orderTool(openSupplier(join(folder, 'orders.jsonl')), CONFIRM_MS),
]

const config: HoldfastConfig = defineConfig({
  agents: {
    site: {
      systemPrompt: 'You help the foreman of a building firm. Be brief. Never make up an id.',
      tools,
      entities,
    },
    chantier: {
      systemPrompt: 'Tu aides le chef de chantier. Sois bref. N’invente jamais un identifiant.',
      tools,
      entities,
      grounding: { language: 'fr' },
    },
  },
})

export default config
