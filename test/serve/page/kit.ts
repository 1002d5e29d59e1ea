/** A browser, and a server with the built page. One browser for a file; a page of its own for each test. */
import { existsSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { createHost, type HostConfig } from '../../../src/host/index.ts'
import { createHttp, type HttpOptions } from '../../../src/serve/http/index.ts'
import { PATIENCE_MS } from '../../patience.ts'

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

export interface Served {
  readonly url: string
  readonly port: number
  readonly close: () => Promise<void>
}

export async function servePage(
  config: HostConfig,
  options: HttpOptions & { readonly port?: number } = {},
): Promise<Served> {
  const { port: wanted = 0, ...http } = options
  const host = createHost(config)
  const { fetch } = await createHttp(host, { page: true, heartbeatMs: 500, ...http })
  host.start()
  const server = serve({ fetch, port: wanted, hostname: '127.0.0.1' })
  await new Promise<void>((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    await host.shutdown()
    ;(server as unknown as { closeAllConnections(): void }).closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${port}`, port, close }
}

export interface Opened {
  readonly page: Page
  /** Violations of the policy, errors of the page, and requests that left the server. */
  readonly problems: string[]
}

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (/Content Security Policy|TrustedHTML|Trusted Type/i.test(message.text()))
      problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) problems.push(`request to ${request.url()}`)
  })
  await page.goto(url)
  return { page, problems }
}
