/** A browser, and a server with the built page. One browser for a file; a page of its own for each test. */
import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { createHost, type HostConfig } from '../../../src/host/index.ts'
import type { LanguageModel, ModelStreamPart } from '../../../src/model/index.ts'
import { createHttp, type HttpOptions } from '../../../src/serve/http/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'
import { PATIENCE_MS } from '../../patience.ts'
import { lowContrast } from './contrast.ts'

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** The reason to skip tests with a browser. CI never skips them: there the launch fails. */
export const noBrowser: string | undefined =
  existsSync(CHROMIUM) || process.env['CI']
    ? undefined
    : `there is no ${CHROMIUM}: apt-get install --no-install-recommends chromium, or set CHROMIUM`

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** A model that waits after the first piece of its first text. */
export function heldModel(script: readonly ScriptedStep[], until: Promise<unknown>): LanguageModel {
  const model = new ScriptedModel(script)
  let isHeld = true
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    doStream: async (call) => {
      const { stream } = await model.doStream(call)
      const held = new TransformStream<ModelStreamPart, ModelStreamPart>({
        transform: async (part, controller) => {
          controller.enqueue(part)
          if (part.type !== 'text-delta' || !isHeld) return
          isHeld = false
          await until
        },
      })
      return { stream: stream.pipeThrough(held) }
    },
  }
}

export interface Served {
  readonly url: string
  readonly port: number
  /** Cuts all connections and accepts no more; turns go on. */
  readonly disconnect: () => Promise<void>
  readonly close: () => Promise<void>
}

export type ServeOptions = HttpOptions & { readonly port?: number }

export async function servePage(config: HostConfig, options: ServeOptions = {}): Promise<Served> {
  const { port: wanted = 0, ...http } = options
  const host = createHost(config)
  const { fetch } = await createHttp(host, { page: true, heartbeatMs: 500, ...http })
  host.start()
  const server = serve({ fetch, port: wanted, hostname: '127.0.0.1' })
  await new Promise<void>((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const disconnect = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve))
    ;(server as unknown as { closeAllConnections(): void }).closeAllConnections()
    await closed
  }
  const close = async (): Promise<void> => {
    // A test that failed may leave a model that never ends.
    await Promise.race([host.shutdown(), setTimeout(5000, undefined, { ref: false })])
    await disconnect()
  }
  return { url: `http://127.0.0.1:${port}`, port, disconnect, close }
}

export interface Opened {
  readonly page: Page
  /** Errors in the console, errors of the page, and requests that left the server. */
  readonly problems: string[]
}

export interface OpenOptions extends BrowserContextOptions {
  /** Errors in the console that the test brings about. */
  readonly expected?: RegExp
}

export async function openPage(browser: Browser, url: string, options: OpenOptions = {}): Promise<Opened> {
  const { expected, ...rest } = options
  const context = await browser.newContext({ reducedMotion: 'reduce', ...rest })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (message.type() === 'error' && !expected?.test(message.text())) problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(new URL(url).origin)) problems.push(`request to ${request.url()}`)
  })
  await page.goto(url)
  return { page, problems }
}

/** Begins a conversation with an agent or a flow; without a name, with the one that is chosen. */
export async function begin(page: Page, message: string, name?: string): Promise<void> {
  if (name !== undefined) await page.getByLabel('Agent or flow').selectOption(name)
  await page.getByRole('button', { name: 'New conversation' }).click()
  await send(page, message)
}

export async function send(page: Page, message: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(message)
  await page.keyboard.press('Enter')
}

/** Runs the graph of the page with values as JSON. */
export async function run(page: Page, values: string): Promise<void> {
  await page.getByLabel('Values (JSON)').fill(values)
  await page.keyboard.press('Enter')
}

/** As browsers do that block all cookies, from the next load on. */
export async function denyStorage(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const get = (): never => {
      throw new DOMException('Access is denied for this document.', 'SecurityError')
    }
    for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(globalThis, name, { get })
  })
}

/** Puts the tab into the background, or to the front again: a browser without a window has all tabs in front. */
export async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, value: hidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

/** A picture for people, with PICTURES=folder. */
async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['PICTURES']
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) })
}

export function messages(page: Page): Locator {
  return page.getByRole('region', { name: 'Messages' })
}

/** Presses Tab until the control with this name has the focus, which must be visible. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 80; presses++) {
    await page.keyboard.press('Tab')
    const found = await page.evaluate(() => {
      const element = document.activeElement as HTMLElement | null
      if (element === null) return undefined
      const label =
        (element as HTMLInputElement).labels?.[0]?.innerText ??
        element.getAttribute('aria-label') ??
        element.innerText
      const style = getComputedStyle(element)
      return { label: label.replace(/ \(required\)$/, '').trim(), outline: style.outlineStyle }
    })
    if (found?.label !== name) continue
    expect(found.outline).not.toBe('none')
    return
  }
  throw new Error(`Tab does not lead to ${name}`)
}

/** Contrast in light and in dark colours, and a page that is not wider than its window. */
export async function eachColour(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await page.evaluate(lowContrast)).toEqual([])
    await picture(page, `${name}-${colorScheme}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
}
