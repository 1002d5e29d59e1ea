/** The built page: its files, and its behaviour in a real browser against a real server with a scripted model. */
import { globSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { rolldown } from 'rolldown'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { buildPage } from '../../../scripts/build-page.ts'
import { createHost, type HostConfig } from '../../../src/host/index.ts'
import { defineTool, memoryStore } from '../../../src/index.ts'
import { apiKeyAuth, createHttp, type HttpServer } from '../../../src/serve/http/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { gate } from '../../turn/kit.ts'
import { lowContrast } from './contrast.ts'
import { DOCK, EVIL, type Everything, everything, HOSTILE, LONG_VALUE, NAMES, OUTSIDE } from './fixtures.ts'
import {
  begin,
  denyStorage,
  eachColour,
  heldModel,
  launch,
  messages,
  noBrowser,
  type Opened,
  openPage,
  run,
  type Served,
  type ServeOptions,
  send,
  servePage,
  setHidden,
  tabTo,
} from './kit.ts'

let browser: Browser
const serving: Served[] = []
const opened: Opened[] = []

beforeAll(async () => {
  await buildPage()
  if (noBrowser === undefined) browser = await launch()
  else process.stderr.write(`Tests of the page in a browser are skipped: ${noBrowser}\n`)
})

afterAll(async () => browser?.close())

afterEach(async () => {
  for (const { page, problems } of opened.splice(0)) {
    await page.context().close()
    if (problems.length > 0) throw new Error(problems.join('\n'))
  }
  for (const { close } of serving.splice(0)) await close()
})

async function serveFor(config: HostConfig, options: ServeOptions = {}): Promise<Served> {
  const served = await servePage(config, options)
  serving.push(served)
  return served
}

async function open(url: string, options: Parameters<typeof openPage>[2] = {}): Promise<Page> {
  const found = await openPage(browser, url, options)
  opened.push(found)
  return found.page
}

describe('the built page', () => {
  let http: HttpServer

  function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return http.fetch(new Request(`http://localhost${path}`, { headers }))
  }

  beforeAll(async () => {
    const host = createHost({ store: memoryStore(), agents: { a: { model: new ScriptedModel([]) } } })
    http = await createHttp(host, { page: true })
  })

  test('loads at most 100 KB, and the client has at most 15 KB', async () => {
    const files = globSync('dist/page/**/*.{html,js,css,svg}')
    expect(files.length).toBeGreaterThanOrEqual(4)
    const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0)
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(100_000)
    const build = await rolldown({ input: 'src/client/index.ts', platform: 'browser' })
    const { output } = await build.generate({ minify: true })
    const client = output.reduce((sum, each) => sum + ('code' in each ? gzipSync(each.code).length : 0), 0)
    expect(output).toHaveLength(1)
    expect(client).toBeLessThan(15_000)
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

  test.each(OUTSIDE)('has nothing at %s', async (path) => {
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
    let shared: Served
    let fixtures: Everything

    beforeAll(async () => {
      fixtures = everything()
      shared = await servePage(fixtures.config, { mounts: fixtures.mounts })
    })

    afterAll(() => shared?.close())

    test('begins with any of the names, streams a reply, shows calls, and finds the conversation', async () => {
      const page = await open(shared.url)
      const choice = page.getByRole('region', { name: 'Begin a conversation' }).getByRole('link')
      await choice.first().waitFor()
      expect((await choice.allTextContents()).toSorted()).toEqual(NAMES)
      const options = await page.getByLabel('Agent or flow').locator('option').allTextContents()
      expect(options.toSorted()).toEqual(NAMES)
      await choice.filter({ hasText: 'kitchen' }).click()
      await send(page, 'Hello')
      await messages(page).getByText('Welcome.').waitFor()
      await send(page, 'Cook soup')
      await messages(page).getByText('chopping for soup').waitFor()
      const refused = messages(page).locator('details.call.rejected')
      await refused.getByText('refused').waitFor()
      expect(await refused.locator('.problem').textContent()).toMatch(/dish/)
      fixtures.cook()
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
      const row = page.getByRole('navigation').getByRole('link')
      await page.getByLabel('Search conversations').fill('once MORE')
      await row.waitFor()
      expect(await row.locator('.title').textContent()).toBe('Hello')
      expect(await row.locator('time').textContent()).toBe('now')
      await page.getByLabel('Search conversations').fill('no such words')
      await page.getByText('Nothing found.').waitFor()
    })

    test('shows the name of the only agent, and goes on after a restart of the server', async () => {
      const pay = defineTool({
        name: 'pay',
        description: 'Pays.',
        input: z.object({}),
        approve: 'always',
        run: () => 'paid',
      })
      const config = (model: Parameters<typeof heldModel>[0], until: Promise<unknown>): HostConfig => ({
        store,
        agents: { only: { tools: [pay], model: heldModel(model, until) } },
      })
      const store = memoryStore()
      const half = { deltas: ['Half of', ' it and the rest.'] }
      const script = [{ calls: [{ tool: 'pay' }] }, half]
      const first = await servePage(config(script, gate().promise))
      const cut = /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/
      const [waiting, running] = [
        await open(first.url, { expected: cut }),
        await open(first.url, { expected: cut }),
      ]
      await waiting.getByLabel('Message', { exact: true }).waitFor()
      expect(await waiting.getByRole('navigation').locator('.only').textContent()).toBe('only')
      expect(await waiting.getByRole('combobox').count()).toBe(0)
      await send(waiting, 'Please pay')
      const approve = waiting.getByRole('button', { name: 'Approve' })
      await approve.waitFor()
      await begin(running, 'Tell me')
      await messages(running).getByText('Half of', { exact: true }).waitFor()

      await first.disconnect()
      for (const page of [waiting, running]) {
        await page.getByText('reconnecting…').waitFor()
        await page.getByRole('alert').getByText('The connection to the server is lost').waitFor()
      }
      // A conversation that is opened while the server is away comes with it, too.
      await waiting.goto(`${first.url}/#/`)
      await waiting.goBack()
      await first.close()
      await serveFor(config(['That is all.', 'It is paid.'], Promise.resolve()), { port: first.port })
      await messages(running).getByText('That is all.').waitFor()
      await running.getByText('connected', { exact: true }).waitFor()
      expect(await running.getByRole('alert').count()).toBe(0)
      expect(await messages(running).locator('.message').allInnerTexts()).toEqual([
        expect.stringContaining('Tell me'),
        expect.stringContaining('That is all.'),
      ])
      expect(await running.locator('[aria-live=polite]').textContent()).toContain('That is all.')

      await approve.click()
      await messages(waiting).getByText('It is paid.').waitFor()
      expect(await messages(waiting).locator('.call.ok').count()).toBe(1)
      expect(await messages(waiting).locator('.message').allInnerTexts()).toEqual([
        expect.stringContaining('Please pay'),
        expect.stringContaining('It is paid.'),
      ])
    })

    test('approves and answers by keyboard alone, with errors of the form and of the server', async () => {
      const page = await open(shared.url, { expected: /400/ })
      await page.getByLabel('Agent or flow').waitFor()
      await tabTo(page, 'Agent or flow')
      await page.keyboard.type('clerk')
      await tabTo(page, 'New conversation')
      await page.keyboard.press('Enter')
      await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')
      await page.keyboard.type('Pay')
      await page.keyboard.press('Shift+Enter')
      await page.keyboard.type('and book')
      await page.keyboard.press('Enter')
      const approval = page.getByRole('region', { name: /Approval/ })
      await approval.getByText('{"euros":5,"to":"*.shop *.bank"}').waitFor()
      expect(await approval.getByLabel('Preview').locator('.added').allTextContents()).toEqual(['+4\n'])
      await tabTo(page, 'Reason (optional)')
      await page.keyboard.type('fine')
      await tabTo(page, 'Approve')
      await page.keyboard.press('Enter')

      const form = page.getByRole('region', { name: /Question/ }).filter({ hasText: 'Which table?' })
      await form.waitFor()
      expect(await approval.evaluate((card) => card === document.activeElement)).toBe(true)
      expect(await approval.locator('.given').textContent()).toBe('Yes: fine')
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
      const change = page.getByRole('region', { name: /Question/ }).filter({ hasText: 'Change the menu?' })
      expect(await change.getByLabel('Preview').locator('.added').allTextContents()).toEqual(['+Salad\n'])
      await tabTo(page, 'No')
      await page.keyboard.press('Enter')
      await messages(page).getByText('All done.').waitFor()
      expect(fixtures.seen).toEqual([
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
      const page = await open(`${shared.url}/#/late:unknown`, { expected: /404/ })
      await page.getByText('You have no conversation at this address.').waitFor()
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
      await page.goto(`${shared.url}/#/late:chosen`)
      await send(page, 'Hello')
      await messages(page).getByText('Here.').waitFor()
      expect(await messages(page).locator('.user').count()).toBe(1)
    })

    test('works where the browser keeps nothing', async () => {
      const page = await open(shared.url)
      await denyStorage(page)
      await page.reload()
      await page.getByLabel('Dark colours').click()
      expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
    })

    test('shows hostile text as text', async () => {
      const page = await open(shared.url)
      await begin(page, HOSTILE, 'crier')
      await messages(page).getByText('(https://example.org/x)').waitFor()
      const shown = await messages(page).locator('.reply').last().textContent()
      expect(shown).toContain(HOSTILE)
      expect(shown).toContain('[run](javascript:alert(3))')
      expect(shown).toContain('⟨U+202E⟩abc')
      expect(
        await messages(page)
          .locator('a')
          .evaluateAll((all) => all.map((each) => [each.getAttribute('href'), each.getAttribute('rel')])),
      ).toEqual([['https://example.org/x', 'noopener noreferrer']])
      expect(await page.locator('img, script:not([src])').count()).toBe(0)
      expect(await messages(page).locator('.user').textContent()).toContain(HOSTILE)
      await messages(page).locator('.call summary').click()
      expect(await messages(page).getByLabel('Result').textContent()).toContain(
        JSON.stringify(HOSTILE).slice(1, -1),
      )
    })

    test('shows the public agent to a visitor, and the rest to whoever signs in', async () => {
      const key = {
        sha256: '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
        tenant: 't',
        actor: 'ann',
      }
      const open401 = { expected: /401/ }
      const { url } = await serveFor(
        {
          store: memoryStore(),
          agents: {
            guide: { trust: { public: true }, model: new ScriptedModel(['Hello visitor.']) },
            clerk: { model: new ScriptedModel(['Hello Ann.']) },
          },
        },
        { authenticate: apiKeyAuth([key]) },
      )
      const page = await open(url, open401)
      await begin(page, 'Hi')
      await messages(page).getByText('Hello visitor.').waitFor()
      expect(await page.getByRole('navigation').locator('.only').textContent()).toBe('guide')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Go on without' }).click()
      await page.getByRole('navigation').getByRole('link', { name: 'Hi' }).waitFor()
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.keyboard.type('bar')
      await page.keyboard.press('Enter')
      await page.getByText('The server refused this token.').waitFor()
      await page.keyboard.type('foo')
      await page.keyboard.press('Enter')
      await page.getByText('No conversations yet.').waitFor()
      await begin(page, 'Hi', 'clerk')
      await messages(page).getByText('Hello Ann.').waitFor()
      expect(
        await page.evaluate(() => [
          JSON.stringify(localStorage),
          sessionStorage.getItem('holdfast-token'),
          document.cookie,
        ]),
      ).toEqual(['{}', 'foo', ''])
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.getByRole('button', { name: 'Sign in' }).waitFor()
      expect(await page.evaluate(() => sessionStorage.getItem('holdfast-token'))).toBe(null)
      await page.getByRole('navigation').getByRole('link', { name: 'guide' }).waitFor()

      const { url: closed } = await serveFor(
        { store: memoryStore(), agents: { a: { model: new ScriptedModel([]) } } },
        { authenticate: apiKeyAuth([key]) },
      )
      const asked = await open(closed, open401)
      await asked.getByLabel('Token or API key').fill('foo')
      expect(await asked.getByRole('button', { name: 'Go on without' }).count()).toBe(0)
      await asked.keyboard.press('Enter')
      await asked.getByLabel('Message', { exact: true }).waitFor()
      // A token that is refused later, by whichever request.
      await asked.route(/\/(agents|conversations)/, (route) =>
        route.fulfill({
          status: 401,
          contentType: 'application/problem+json',
          body: '{"detail":"Expired."}',
        }),
      )
      await send(asked, 'Hi')
      await asked.getByText('The server refused this token.').waitFor()
    })

    test('keeps the place and the words of the reader, and shows an item that cannot be drawn as such', async () => {
      const store = memoryStore()
      const replies = Array.from({ length: 210 }, (_, at) => `Reply ${at}.`)
      const host = createHost({ store, agents: { only: { model: new ScriptedModel(replies) } } })
      const key = { tenant: 'local', actor: 'local', contextId: 'only:long' }
      for (let at = 0; at < 200; at++) await (await host.send(key, `Message ${at}`)).outcome
      await host.shutdown()
      const model = new ScriptedModel(['One more.'])
      const { url } = await serveFor({ store, agents: { only: { model } } })
      const page = await open(`${url}/#/only:long`, { expected: /React|TypeError|is not a function/ })
      await messages(page).getByText('Reply 199.').waitFor()
      expect(await messages(page).getByText('Message 10', { exact: true }).count()).toBe(0)
      const top = messages(page).locator('.message').first()
      const text = await top.innerText()
      await top.scrollIntoViewIfNeeded()
      const field = page.getByLabel('Message', { exact: true })
      await field.fill('A draft')
      const earlier = page.getByRole('button', { name: 'Show earlier' })
      await earlier.click()
      await messages(page).getByText('Message 10', { exact: true }).waitFor()
      expect(await earlier.count()).toBe(0)
      const same = messages(page)
        .locator('.message', { hasText: text.split('\n').at(-1) ?? '' })
        .first()
      const isInView = await same.evaluate((element) => {
        const { top: at } = element.getBoundingClientRect()
        return at > 0 && at < innerHeight
      })
      expect(isInView).toBe(true)

      const held = gate()
      await page.route('**/messages', async (route) => {
        await held.promise
        await route.continue()
      })
      await field.press('Enter')
      await field.pressSequentially(' and more')
      held.resolve()
      await messages(page).getByText('One more.').waitFor()
      await expect.poll(() => field.inputValue()).toBe('and more')
      const toEnd = () =>
        messages(page).evaluate((chat) => chat.scrollHeight - chat.scrollTop - chat.clientHeight)
      await messages(page).evaluate((chat) => chat.scrollTo(0, chat.scrollHeight))
      await expect.poll(toEnd).toBeLessThan(2)
      await page.setViewportSize({ width: 500, height: 400 })
      await expect.poll(toEnd).toBeLessThan(2)

      const odd = {
        seq: 1300,
        turn: 1,
        at: 0,
        type: 'request.start',
        v: 1,
        data: { requestId: 'r', prompt: {} },
      }
      await page.route('**/events?*', (route) =>
        route.fulfill({
          contentType: 'text/event-stream',
          body: `event: entry\ndata: ${JSON.stringify(odd)}\n\n`,
        }),
      )
      await setHidden(page, true)
      await setHidden(page, false)
      await messages(page).getByText('The page cannot show this part').waitFor()
      await messages(page).getByText('One more.').waitFor()
    })

    test('has a connection while its tab is in front, and catches up', async () => {
      const model = new ScriptedModel(['First.', 'Second.'])
      const { url } = await serveFor({ store: memoryStore(), agents: { only: { model } } })
      const first = await open(url)
      await begin(first, 'Hello')
      await messages(first).getByText('First.').waitFor()
      let last = first
      // Browsers open six connections to a server.
      for (let more = 0; more < 6; more++) {
        await setHidden(last, true)
        last = await first.context().newPage()
        await last.goto(first.url())
        await messages(last).getByText('First.').waitFor()
      }
      await send(last, 'Again')
      await messages(last).getByText('Second.').waitFor()
      expect(await messages(first).locator('.message').count()).toBe(2)
      await setHidden(first, false)
      await messages(first).getByText('Second.').waitFor()
      expect(await messages(first).locator('.message').count()).toBe(4)
    })

    test('runs a graph with values, and shows its whole state in a panel that scrolls', async () => {
      const page = await open(`${shared.url}/#/new/think`)
      await run(page, '{ nonsense')
      await page.getByRole('alert').getByText('Values must be a JSON object').waitFor()
      await run(page, '{"question": "rain"}')
      await messages(page).locator('details.call.ok', { hasText: 'note' }).waitFor()
      const user = messages(page).locator('.user')
      expect(await user.locator('.plain').textContent()).toBe('rain')
      await user.getByText('Values').click()
      expect(await user.getByLabel('Values').textContent()).toContain('"question": "rain"')
      await page.getByRole('button', { name: 'State' }).click()
      const state = page.getByRole('complementary', { name: 'State' })
      await state.getByText('because of rain').waitFor()
      const pre = state.locator('pre')
      expect(await pre.textContent()).toContain(LONG_VALUE)
      const hidden = (element: Element) => element.scrollHeight - element.clientHeight
      expect(await pre.evaluate(hidden)).toBeLessThanOrEqual(0)
      expect(await state.evaluate(hidden)).toBeGreaterThan(0)
      const [panel, text] = [await state.boundingBox(), await pre.boundingBox()]
      expect((text?.x ?? 0) + (text?.width ?? 0)).toBeLessThanOrEqual((panel?.x ?? 0) + (panel?.width ?? 0))
    })

    test('keeps the open question of a graph, whatever is entered, until it is answered or cancelled', async () => {
      const page = await open(`${shared.url}/#/new/review`)
      const values = page.getByLabel('Values (JSON)')
      const question = messages(page).getByRole('region', { name: 'Question waits for you' })
      await run(page, '{"text": "tea"}')
      await question.getByText('Is tea good?').waitFor()
      expect(await values.inputValue()).toBe('')
      await run(page, '{"text": "mud"}')
      expect(await page.getByRole('button', { name: 'Run' }).isDisabled()).toBe(true)
      await page.getByText('Answer the question above, or cancel the run').waitFor()
      await question.getByRole('button', { name: 'Yes' }).click()
      await messages(page).locator('details.call.ok', { hasText: 'ask' }).waitFor()
      expect(await messages(page).locator('.user').count()).toBe(1)
      await run(page, await values.inputValue())
      await question.getByText('Is mud good?').waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await messages(page).locator('details.call.cancelled', { hasText: 'ask' }).waitFor()
      await messages(page).getByRole('region', { name: 'Question cancelled' }).waitFor()
      await run(page, '{"text": "rum"}')
      await question.getByText('Is rum good?').waitFor()
    })

    test('shows the message and the reply of each turn of a flow', async () => {
      const page = await open(shared.url)
      await begin(page, 'Why?', 'oracle')
      await messages(page).locator('strong', { hasText: 'Why?' }).waitFor()
      await send(page, 'How?')
      await messages(page).locator('strong', { hasText: 'How?' }).waitFor()
      await page.reload()
      await messages(page).locator('strong', { hasText: 'How?' }).waitFor()
      expect(await messages(page).locator('.user .plain').allTextContents()).toEqual(['Why?', 'How?'])
      expect(await messages(page).locator('.reply .markdown').allTextContents()).toEqual([
        'You asked: Why?',
        'You asked: How?',
      ])
      expect(await messages(page).locator('.user').first().getByLabel('Values').isVisible()).toBe(false)
      await page.getByRole('navigation').getByRole('link', { name: 'Why?' }).waitFor()
    })

    test('shows sources beside an answer and opens the passage, in both colours, wide and on a phone', async () => {
      const page = await open(shared.url, { viewport: { width: 1280, height: 800 } })
      await begin(page, 'When does the gate of the dock open?', 'research')
      const source = page.getByRole('region', { name: 'Sources' }).getByRole('button')
      await source.waitFor()
      expect(await messages(page).locator('.user').innerText()).toContain(
        'When does the gate of the dock open?',
      )
      expect(await messages(page).locator('.user').getByText('Values').count()).toBe(0)
      expect(await source.textContent()).toContain(`Docks ${EVIL}`)
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
      expect(await passage.locator('.text').textContent()).toBe(`Page top. ${EVIL} ${DOCK} Page end.`)
      expect(await passage.textContent()).toContain('Page 1')
      expect(await page.locator('img').count()).toBe(0)
      await eachColour(page, 'research-wide')
      await passage.getByRole('button', { name: 'Close' }).click()
      // The number in the answer opens the same passage.
      await messages(page).getByRole('button', { name: 'Source 1' }).first().click()
      await passage.locator('mark').waitFor()
      await page.keyboard.press('Escape')
      await source.click()
      await page.setViewportSize({ width: 320, height: 640 })
      await eachColour(page, 'research-passage')
      await passage.getByRole('button', { name: 'Close' }).click()
      await source.waitFor()
      expect(await source.evaluate((element) => element === document.activeElement)).toBe(true)
      await eachColour(page, 'research-phone')
      // The next message is a message, not values.
      await send(page, 'And the depth of the dock?')
      await messages(page).locator('.user').nth(1).waitFor()
    })

    test('has contrast in both colours, and fits a width of 320', async () => {
      const page = await open(shared.url, { viewport: { width: 320, height: 640 } })
      await page.getByLabel('Agent or flow').waitFor()
      await eachColour(page, 'home-phone')
      await begin(page, 'Hi', 'frame')
      await page.getByRole('button', { name: 'Approve' }).waitFor()
      await eachColour(page, 'approval-phone')
      await page.getByRole('button', { name: 'Timeline' }).click()
      await eachColour(page, 'timeline-phone')
      await page.getByRole('link', { name: 'Back to the list' }).click()
      await page.getByRole('navigation').getByRole('link').first().waitFor()
      await eachColour(page, 'list-phone')
      await page.getByRole('button', { name: 'Dark colours' }).click()
      expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark')
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.getByRole('region', { name: 'Begin a conversation' }).waitFor()
      expect(await page.evaluate(lowContrast)).toEqual([])
    })
  },
)
