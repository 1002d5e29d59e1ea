/** The built page: its files, and its behaviour in a real browser against a real server with a scripted model. */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { buildPage } from '../../../scripts/build-page.ts'
import { researchFlow } from '../../../src/flow/research/index.ts'
import { END, graph, START, value } from '../../../src/graph/index.ts'
import { createHost, type HostConfig } from '../../../src/host/index.ts'
import { ask, defineTool, memoryStore } from '../../../src/index.ts'
import { apiKeyAuth, createHttp, type HttpOptions, type HttpServer } from '../../../src/serve/http/index.ts'
import { researchHttp } from '../../../src/serve/research/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { memoryCorpus } from '../../flow/research/kit.ts'
import { gate } from '../../turn/kit.ts'
import { effectCounts } from '../http/processes/checks.ts'
import { ServerProcess } from '../http/processes/fleet.ts'
import { lowContrast } from './contrast.ts'
import {
  ADDRESS,
  begin,
  heldModel,
  launch,
  messages,
  noBrowser,
  type Opened,
  openPage,
  picture,
  type Served,
  send,
  servePage,
  tabTo,
} from './kit.ts'

const DIFF = '--- a/menu.txt\n+++ b/menu.txt\n@@ -1 +1 @@\n-Soup\n+Salad\n'

let browser: Browser
const serving: Served[] = []
const opened: Opened[] = []

beforeAll(async () => {
  await buildPage()
  if (noBrowser === undefined) browser = await launch()
  else process.stderr.write(`Tests of the page in a browser are skipped: ${noBrowser}\n`)
})

afterAll(async () => {
  await browser?.close()
})

afterEach(async () => {
  for (const { page, problems } of opened.splice(0)) {
    await page.context().close()
    if (problems.length > 0) throw new Error(problems.join('\n'))
  }
  for (const { close } of serving.splice(0)) await close()
})

async function serveFor(
  config: HostConfig,
  options: HttpOptions & { readonly port?: number } = {},
): Promise<Served> {
  const served = await servePage(config, options)
  serving.push(served)
  return served
}

async function open(url: string, options: Parameters<typeof openPage>[2] = {}): Promise<Page> {
  const found = await openPage(browser, url, options)
  opened.push(found)
  return found.page
}

const FIRST_LOAD_BYTES = 200_000
const CLIENT_BYTES = 15_000

describe('the built page', () => {
  let http: HttpServer

  function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return http.fetch(new Request(`http://localhost${path}`, { headers }))
  }

  beforeAll(async () => {
    const host = createHost({ store: memoryStore(), agents: { a: { model: new ScriptedModel([]) } } })
    http = await createHttp(host, { page: true })
  })

  test('loads at most 200 KB, and the client has at most 15 KB', async () => {
    const files = globSync('dist/page/**/*.{html,js,css,svg}')
    expect(files.length).toBeGreaterThanOrEqual(4)
    const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0)
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(FIRST_LOAD_BYTES)
    const build = await rolldown({ input: 'src/client/index.ts', platform: 'browser' })
    const { output } = await build.generate({ minify: true })
    const client = output.reduce((sum, each) => sum + ('code' in each ? gzipSync(each.code).length : 0), 0)
    expect(output).toHaveLength(1)
    expect(client).toBeLessThan(CLIENT_BYTES)
  })

  test('is served with a strict policy, and has nothing inline or from elsewhere', async () => {
    const page = await get('/')
    const html = await page.text()
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    const policy = page.headers.get('content-security-policy')?.split('; ')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self'")
    expect(policy).toContain("style-src 'self'")
    expect(policy?.join()).not.toMatch(/unsafe|https?:|\*/)
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style|style=|\son\w+=|https?:\/\//)
    for (const [, path = ''] of html.matchAll(/(?:src|href)="\.([^"]+)"/g)) {
      const file = await get(path, { 'accept-encoding': 'br, gzip' })
      expect([file.status, file.headers.get('content-encoding')]).toEqual([200, 'gzip'])
      expect(file.headers.get('cache-control')).toMatch(
        path.startsWith('/assets/') ? /immutable/ : /no-cache/,
      )
      const again = await get(path, { 'if-none-match': file.headers.get('etag') ?? '' })
      expect([again.status, await again.text()]).toEqual([304, ''])
    }
  })

  test.each([
    '/..%2f..%2fpackage.json',
    '/assets/..%2f..%2f..%2fpackage.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/assets/..\\..\\package.json',
    '/assets/',
    '/assets',
    '/licenses.md',
    '/index.html%00',
    '//etc/passwd',
    '/file:///etc/passwd',
  ])('has nothing at %s', async (path) => {
    const response = await get(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
  })

  test('keeps the policy of the routes, and is absent without the option', async () => {
    const agents = await get('/agents')
    expect(agents.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(await agents.json()).toEqual({ agents: ['a'], graphs: [] })
    const host = createHost({ store: memoryStore(), agents: { a: { model: new ScriptedModel([]) } } })
    const plain = await createHttp(host)
    expect((await plain.fetch(new Request('http://localhost/'))).status).toBe(404)
  })
})

describe.skipIf(noBrowser !== undefined)(
  `the page${noBrowser === undefined ? '' : ` (${noBrowser})`}`,
  () => {
    test('streams a reply, shows calls with progress, result and refusal, and finds the conversation', async () => {
      const cooked = gate()
      const cook = defineTool({
        name: 'cook',
        description: 'Cooks.',
        input: z.object({ dish: z.string() }),
        run: async function* ({ dish }) {
          yield `chopping for ${dish}`
          await cooked.promise
          return { plate: dish }
        },
      })
      const { url } = await serveFor({
        store: memoryStore(),
        agents: {
          kitchen: {
            tools: [cook],
            model: new ScriptedModel([
              'Welcome.',
              {
                text: 'I cook.',
                calls: [
                  { tool: 'cook', args: { dish: 'soup' } },
                  { tool: 'cook', args: { dish: 7 } },
                ],
              },
              'Served **hot**.',
              { stall: true, after: 'Slowly, very slowly' },
            ]),
          },
          other: { model: new ScriptedModel([]) },
        },
      })
      const page = await open(url)
      await begin(page, 'Hello')
      await messages(page).getByText('Welcome.').waitFor()
      await send(page, 'Cook soup')
      expect(await page.getByLabel('Agent').locator('option').allTextContents()).toEqual(['kitchen', 'other'])
      await messages(page).getByText('chopping for soup').waitFor()
      const refused = messages(page).locator('details.call.rejected')
      await refused.getByText('refused').waitFor()
      expect(await refused.locator('.problem').textContent()).toMatch(/dish/)
      cooked.resolve()
      await messages(page).locator('strong', { hasText: 'hot' }).waitFor()
      const done = messages(page).locator('details.call.ok')
      await done.locator('summary').click()
      await done.getByLabel('Arguments').getByText('"dish": "soup"').waitFor()
      await done.getByLabel('Result').getByText('"plate": "soup"').waitFor()

      await send(page, 'Once more')
      await messages(page).getByText('Slowly, very slowly').waitFor()
      await page.keyboard.press('Escape')
      await messages(page).getByText('The turn was cancelled.').waitFor()

      await page.getByRole('button', { name: 'Timeline' }).click()
      const entry = page.getByRole('complementary').locator('li', { hasText: 'tool.start' }).first()
      await entry.locator('summary').click()
      await entry.getByText('"idempotencyKey"').waitFor()
      await page.getByLabel('Search conversations').fill('once MORE')
      await page
        .getByRole('navigation')
        .getByRole('link')
        .getByText('Slowly')
        .or(page.getByText('Once more').first())
        .waitFor()
      await page.getByLabel('Search conversations').fill('no such words')
      await page.getByText('Nothing found.').waitFor()
    })

    test('goes on after the server restarts in the middle of a reply: the next one gives the whole reply', async () => {
      const store = memoryStore()
      const half = { deltas: ['Half of', ' it and the rest.'] }
      const first = await servePage({ store, agents: { a: { model: heldModel([half], gate().promise) } } })
      const page = await open(first.url)
      await begin(page, 'Tell me')
      await messages(page).getByText('Half of', { exact: true }).waitFor()
      await first.disconnect()
      await page.getByText('reconnecting…').waitFor()
      await first.close()
      await serveFor(
        { store, agents: { a: { model: new ScriptedModel(['That is all.']) } } },
        { port: first.port },
      )
      await messages(page).getByText('That is all.').waitFor()
      await page.getByText('connected', { exact: true }).waitFor()
      expect(await messages(page).locator('.message').allInnerTexts()).toEqual([
        expect.stringContaining('Tell me'),
        expect.stringContaining('That is all.'),
      ])
      expect(await page.locator('[aria-live=polite]').textContent()).toContain('That is all.')
    })

    test('goes on after kill -9 in mid-turn, and an approval from before is answered', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-page-'))
      // Below the ports that outgoing connections take.
      const port = 20_000 + (process.pid % 10_000)
      // The sources find the page that this file has built.
      const program = resolve('test/serve/http/processes/server-process.ts')
      const place = { folder, port, program, options: { http: { page: true } } }
      const first = await ServerProcess.start(place)
      const running = await open(first.url)
      await begin(running, 'Please do hold-1')
      await expect.poll(() => effectCounts(folder).get('hold-1')).toBe(1)
      await messages(running).locator('details.call').waitFor()
      const waiting = await open(first.url)
      await begin(waiting, 'Please do buy-2')
      const approve = waiting.getByRole('button', { name: 'Approve' })
      await approve.waitFor()

      await first.kill()
      for (const page of [running, waiting]) await page.getByText('reconnecting…').waitFor()
      const second = await ServerProcess.start(place)
      onTestFinished(async () => {
        await second.kill()
        rmSync(folder, { recursive: true, force: true })
      })
      for (const page of [running, waiting]) await page.getByText('connected', { exact: true }).waitFor()
      await approve.click()
      for (const [page, message] of [
        [running, 'Please do hold-1'],
        [waiting, 'Please do buy-2'],
      ] as const) {
        await messages(page).getByText('word 19').waitFor()
        expect(await messages(page).locator('.message').allInnerTexts()).toEqual([
          expect.stringContaining(message),
          expect.stringContaining('word 0 word 1 '),
        ])
        expect(await messages(page).locator('.call.ok').count()).toBe(1)
        expect(await messages(page).locator('.call').count()).toBe(1)
      }
      expect(Object.fromEntries(effectCounts(folder))).toEqual({ 'hold-1': 1, 'buy-2': 1 })
    })

    test('approves and answers by keyboard alone, with errors of the form and of the server', async () => {
      const seen: unknown[] = []
      const pay = defineTool({
        name: 'pay',
        description: 'Pays.',
        input: z.object({ euros: z.number() }),
        approve: 'always',
        run: ({ euros }) => ({ paid: euros }),
      })
      const book = defineTool({
        name: 'book',
        description: 'Books.',
        input: z.object({}),
        run: (_, { answers }) => {
          if (answers['table'] === undefined)
            return ask([
              { kind: 'data', name: 'table', prompt: 'Which table?', schema: ADDRESS },
              {
                kind: 'choice',
                name: 'extras',
                prompt: 'Extras?',
                options: ['bread', { name: 'wine' }],
                multiple: true,
              },
              { kind: 'confirmation', name: 'change', prompt: 'Change the menu?', about: { preview: DIFF } },
            ])
          seen.push(answers)
          return 'booked'
        },
      })
      const { url } = await serveFor({
        store: memoryStore(),
        agents: {
          a: {
            tools: [pay, book],
            model: new ScriptedModel([
              { calls: [{ tool: 'pay', args: { euros: 5 } }] },
              { calls: [{ tool: 'book' }] },
              'All done.',
            ]),
          },
        },
      })
      const page = await open(url)
      await page.getByRole('button', { name: 'New conversation' }).focus()
      await page.keyboard.press('Enter')
      await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')
      await page.keyboard.type('Pay')
      await page.keyboard.press('Shift+Enter')
      await page.keyboard.type('and book')
      await page.keyboard.press('Enter')
      const approval = page.getByRole('region', { name: /Approval/ })
      await approval.getByText('"euros": 5').waitFor()
      await tabTo(page, 'Reason (optional)')
      await page.keyboard.type('fine')
      await tabTo(page, 'Approve')
      await page.keyboard.press('Enter')

      const form = page.getByRole('region', { name: /Question/ }).filter({ hasText: 'Which table?' })
      await form.waitFor()
      await tabTo(page, 'Name')
      await page.keyboard.press('Enter')
      await form.getByText('This is required.').first().waitFor()
      await page.keyboard.type('Ann')
      await tabTo(page, 'People')
      await page.keyboard.type('2')
      await tabTo(page, 'Size')
      await page.keyboard.type('large')
      await tabTo(page, 'Street')
      await page.keyboard.type('X')
      await tabTo(page, 'Add to Guests')
      await page.keyboard.press('Enter')
      await tabTo(page, 'Guest')
      await page.keyboard.type('Bob')
      await page.keyboard.press('Enter')
      await form
        .getByRole('alert')
        .getByText(/address\.street/)
        .waitFor()
      await form.getByLabel('Street').focus()
      await page.keyboard.press('End')
      await page.keyboard.type('YZ')
      await page.keyboard.press('Enter')
      await page
        .getByRole('region', { name: /Question answered/ })
        .first()
        .waitFor()

      const extras = page.getByRole('region', { name: /Question waits/ }).filter({ hasText: 'Extras?' })
      await tabTo(page, 'wine')
      await page.keyboard.press('Space')
      await tabTo(page, 'Answer')
      await page.keyboard.press('Enter')
      await extras.waitFor({ state: 'hidden' })
      expect(await page.getByLabel('Preview').locator('.added').allTextContents()).toEqual(['+Salad\n'])
      await tabTo(page, 'No')
      await page.keyboard.press('Enter')
      await messages(page).getByText('All done.').waitFor()
      expect(seen).toEqual([
        {
          table: {
            name: 'Ann',
            people: 2,
            size: 'large',
            address: { street: 'XYZ' },
            guests: [{ name: 'Bob' }],
          },
          extras: [{ name: 'wine' }],
          change: false,
        },
      ])
      expect(await messages(page).locator('.user .plain').first().textContent()).toBe('Pay\nand book')
    })

    test('shows the reply to a message that is sent while the page still looks for the conversation', async () => {
      const { url } = await serveFor({
        store: memoryStore(),
        agents: { a: { model: new ScriptedModel(['Here.']) } },
      })
      const page = await open(url)
      const stored = Promise.withResolvers<void>()
      // The answer that there is no such conversation arrives after the message was stored.
      await page.route(/\/conversations\/[^/?]+$/, async (route) => {
        const response = await route.fetch()
        await stored.promise
        await route.fulfill({ response })
      })
      page.on('response', (response) => {
        if (response.url().endsWith('/messages') && response.request().method() === 'POST') stored.resolve()
      })
      await begin(page, 'Hello')
      await messages(page).getByText('Here.').waitFor()
      expect(await messages(page).locator('.user').count()).toBe(1)
    })

    test('shows hostile text as text', async () => {
      const evil = '<img src=x onerror=alert(1)><script>alert(2)</script>'
      const show = defineTool({
        name: 'show',
        description: 'Shows.',
        input: z.object({ text: z.string() }),
        run: ({ text }) => ({ html: text }),
      })
      const reply = `${evil} [run](javascript:alert(3)) [bank](https://example.org/x) [b](https://bank.test@evil.test/) \u202Eabc`
      const { url } = await serveFor({
        store: memoryStore(),
        agents: {
          a: {
            tools: [show],
            model: new ScriptedModel([{ calls: [{ tool: 'show', args: { text: evil } }] }, reply]),
          },
        },
      })
      const page = await open(url)
      await begin(page, evil)
      await messages(page).getByText('(https://example.org/x)').waitFor()
      const shown = await messages(page).locator('.reply').last().textContent()
      expect(shown).toContain(evil)
      expect(shown).toContain('[run](javascript:alert(3))')
      expect(shown).toContain('⟨U+202E⟩abc')
      expect(
        await messages(page)
          .locator('a')
          .evaluateAll((all) => all.map((each) => [each.getAttribute('href'), each.getAttribute('rel')])),
      ).toEqual([['https://example.org/x', 'noopener noreferrer']])
      expect(await page.locator('img, script:not([src])').count()).toBe(0)
      expect(await messages(page).locator('.user').textContent()).toContain(evil)
      await messages(page).locator('.call summary').click()
      expect(await messages(page).getByLabel('Result').textContent()).toContain(
        JSON.stringify(evil).slice(1, -1),
      )
    })

    test('asks for a token, and keeps it in the session alone', async () => {
      const key = {
        sha256: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
        tenant: 't',
        actor: 'ann',
      }
      const { url } = await serveFor(
        { store: memoryStore(), agents: { a: { model: new ScriptedModel(['Hello Ann.']) } } },
        { authenticate: apiKeyAuth([key]) },
      )
      const page = await open(url)
      await page.getByLabel('Token or API key').fill('bar')
      await page.keyboard.press('Enter')
      await page.getByText('The server refused this token.').waitFor()
      await page.getByLabel('Token or API key').fill('foo')
      await page.keyboard.press('Enter')
      await begin(page, 'Hi')
      await messages(page).getByText('Hello Ann.').waitFor()
      expect(
        await page.evaluate(() => [
          JSON.stringify(localStorage),
          sessionStorage.getItem('holdfast-token'),
          document.cookie,
        ]),
      ).toEqual(['{}', 'foo', ''])
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByLabel('Token or API key').waitFor()
      expect(await page.evaluate(() => sessionStorage.getItem('holdfast-token'))).toBe(null)
    })

    test('runs a graph with values, and shows its state', async () => {
      const store = memoryStore()
      const flow = graph({ state: { question: value<string>(), answer: value<string>() } })
        .addNode('think', ({ question }) => ({ answer: `because of ${question}` }))
        .addEdge(START, 'think')
        .addEdge('think', END)
        .compile({ store })
      const { url } = await serveFor({ store, graphs: { flow } })
      const page = await open(url)
      await page.getByRole('button', { name: 'New conversation' }).click()
      await page.getByLabel('Values (JSON)').fill('{ nonsense')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').getByText('Values must be a JSON object').waitFor()
      await page.getByLabel('Values (JSON)').fill('{"question": "rain"}')
      await page.keyboard.press('Enter')
      await messages(page).locator('details.call.ok', { hasText: 'think' }).waitFor()
      await page.getByRole('button', { name: 'State' }).click()
      const state = page.getByRole('complementary', { name: 'State' })
      await state.getByText('because of rain').waitFor()
      expect(await state.locator('pre').textContent()).toContain('"question": "rain"')
    })

    test.each(['light', 'dark'] as const)(
      'shows sources beside an answer and opens the passage in %s colours, wide and on a phone',
      async (colorScheme) => {
        const evil = '<img src=x onerror=alert(1)>'
        const text = `It is old. The gate of the dock\nopens 2 hours before high tide. See ${evil} for more.`
        const corpus = {
          ...memoryCorpus([{ title: `Docks ${evil}`, pages: [text] }]),
          surroundings: async () => ({ before: `Page top. ${evil} `, after: ' Page end.' }),
        }
        const { url } = await serveFor(
          { store: memoryStore(), flows: { research: researchFlow({ corpus }) } },
          { mounts: [researchHttp({ corpus })] },
        )
        const page = await open(url, { colorScheme, viewport: { width: 1280, height: 800 } })
        await begin(page, 'When does the gate of the dock open?')
        const source = page.getByRole('region', { name: 'Sources' }).getByRole('button')
        await source.waitFor()
        expect(await messages(page).locator('.user .plain').textContent()).toBe(
          'When does the gate of the dock open?',
        )
        expect(await source.textContent()).toContain(`Docks ${evil}`)
        const [answer, beside] = await Promise.all([
          page.locator('.cited > .markdown').boundingBox(),
          page.locator('.cited > .sources').boundingBox(),
        ])
        expect(beside?.x).toBeGreaterThanOrEqual((answer?.x ?? 0) + (answer?.width ?? 0))
        await source.click()
        const passage = page.getByRole('complementary', { name: 'Passage' })
        await passage.getByText('Page top.').waitFor()
        expect(await passage.locator('mark').textContent()).toBe(
          'The gate of the dock\nopens 2 hours before high tide.',
        )
        expect(await passage.locator('.text').textContent()).toBe(`Page top. ${evil} ${text} Page end.`)
        expect(await passage.textContent()).toContain('Page 1')
        expect(await page.locator('img').count()).toBe(0)
        expect(await page.evaluate(lowContrast)).toEqual([])
        await picture(page, `research-wide-${colorScheme}`)
        await page.setViewportSize({ width: 320, height: 640 })
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
        expect(await page.evaluate(lowContrast)).toEqual([])
        await picture(page, `research-passage-${colorScheme}`)
        await passage.getByRole('button', { name: 'Close' }).click()
        await source.waitFor()
        expect(await source.evaluate((element) => element === document.activeElement)).toBe(true)
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
        await picture(page, `research-phone-${colorScheme}`)
        // The next message is a message, not values.
        await send(page, 'And the depth of the dock?')
        await messages(page).locator('.user').nth(1).waitFor()
      },
    )

    test.each(['light', 'dark'] as const)(
      'has contrast in %s colours, and fits a width of 320',
      async (colorScheme) => {
        const { url } = await serveFor({
          store: memoryStore(),
          agents: {
            a: {
              tools: [
                defineTool({
                  name: 'fail',
                  description: 'Fails.',
                  input: z.object({}),
                  run: () => {
                    throw new Error('no such luck')
                  },
                }),
                defineTool({
                  name: 'pay',
                  description: 'Pays.',
                  input: z.object({ note: z.string() }),
                  approve: 'always',
                  run: () => 1,
                }),
              ],
              model: new ScriptedModel([
                {
                  text: 'A `code`, a [link](https://example.org) and\n```\nlong_code_without_any_space_'.concat(
                    'x'.repeat(300),
                    '\n```',
                  ),
                  calls: [{ tool: 'fail' }],
                },
                { calls: [{ tool: 'pay', args: { note: 'y'.repeat(300) } }] },
              ]),
            },
          },
        })
        const page = await open(url, { colorScheme, viewport: { width: 320, height: 640 } })
        await begin(page, 'Hi')
        await page.getByRole('button', { name: 'Approve' }).waitFor()
        expect(await page.evaluate(lowContrast)).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
        await page.getByRole('button', { name: 'Timeline' }).click()
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
        expect(await page.evaluate(lowContrast)).toEqual([])
        await page.getByRole('link', { name: 'Back to the list' }).click()
        await page.getByRole('navigation').getByRole('link').first().waitFor()
        expect(await page.evaluate(lowContrast)).toEqual([])
        await page.getByRole('button', { name: 'Dark colours' }).click()
        expect(await page.evaluate(lowContrast)).toEqual([])
      },
    )
  },
)
