/** Each vendor on a local server: what is sent, what is read from its answer, and how its refusals are reported. */
import { inspect } from 'node:util'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { brave, searxng, tavily, type WebSearchOptions } from '../../../src/corpus/web/index.ts'
import { HoldfastError } from '../../../src/protocol/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { network } from '../../toolbox/web-kit.ts'
import { BRAVE, braveError, SEARXNG, TAVILY, tavilyError } from './answers.ts'
import { type VendorAnswer, world } from './kit.ts'

const KEY = 'tvly-SECRET-0123456789'
const EXCERPTS = { fetchPages: false }
const HIT = {
  url: 'http://kelp.example/holdfast',
  title: 'Kelp holdfasts',
  text: 'The root-like organ of kelp.',
}

const VENDORS = {
  searxng: (options: WebSearchOptions) => searxng({ url: `http://user:${KEY}@vendor.example`, ...options }),
  brave: (options: WebSearchOptions) => brave({ apiKey: KEY, url: 'http://vendor.example/web', ...options }),
  tavily: (options: WebSearchOptions) =>
    tavily({ apiKey: KEY, url: 'http://vendor.example/search', ...options }),
}

afterEach(() => void vi.unstubAllEnvs())

/** The error of a search on these answers of the vendor. */
async function failureOf(
  name: keyof typeof VENDORS,
  vendor: readonly VendorAnswer[],
  options: WebSearchOptions = {},
): Promise<HoldfastError> {
  const { web } = await world({ vendor })
  const found = VENDORS[name]({ ...EXCERPTS, ...web, ...options }).search('kelp')
  return (await found.catch((error: unknown) => error)) as HoldfastError
}

describe('a request', () => {
  it('to SearXNG asks its search for JSON, below the path of the instance', async () => {
    for (const path of ['', '/', '/searx', '/searx/search', '/searx/search/']) {
      const { web, sent } = await world({ vendor: [{ body: SEARXNG }] })
      const search = searxng({ url: `http://vendor.example${path}`, language: 'fr', ...EXCERPTS, ...web })
      expect(search.name).toBe('searxng')
      expect(await search.search(' kelp \n holdfast ', { limit: 1 })).toEqual([HIT])
      expect(sent).toMatchObject([
        {
          method: 'GET',
          path: path.startsWith('/searx') ? '/searx/search' : '/search',
          query: { q: 'kelp holdfast', format: 'json', language: 'fr' },
        },
      ])
      expect(sent[0]?.headers.authorization).toBeUndefined()
    }
  })

  it('to SearXNG has the password of its address by basic authentication', async () => {
    const { web, sent } = await world({ vendor: [{ body: SEARXNG }] })
    await searxng({ url: 'http://me:p%40ss@vendor.example', ...EXCERPTS, ...web }).search('kelp')
    const expected = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    expect(sent[0]?.headers.authorization).toBe(expected)
  })

  it('to SearXNG takes a percent sign of a password as it is', async () => {
    const { web, sent } = await world({ vendor: [{ body: SEARXNG }] })
    await searxng({ url: 'http://me:100%%E9%40@vendor.example', ...EXCERPTS, ...web }).search('kelp')
    const expected = `Basic ${Buffer.from('me:100%%E9%40').toString('base64')}`
    expect(sent[0]?.headers.authorization).toBe(expected)
  })

  it('to Brave has the query, the number of results and the key in its header', async () => {
    const { web, sent } = await world({ vendor: [{ body: BRAVE }] })
    const search = brave({ apiKey: KEY, url: 'http://vendor.example/web', ...EXCERPTS, ...web })
    expect(await search.search('kelp holdfast', { limit: 7 })).toEqual([
      {
        url: 'http://kelp.example/holdfast',
        title: 'Kelp holdfasts & more',
        text: "The root-like organ of kelp; it's no root. 1 < 2.",
      },
    ])
    expect(sent).toMatchObject([
      {
        method: 'GET',
        path: '/web',
        query: { q: 'kelp holdfast', count: '7', result_filter: 'web', text_decorations: 'false' },
        headers: { 'x-subscription-token': KEY, accept: 'application/json' },
      },
    ])
  })

  it('to Tavily is a POST with the key as a bearer token', async () => {
    const { web, sent } = await world({ vendor: [{ body: TAVILY }] })
    const search = tavily({ apiKey: KEY, url: 'http://vendor.example/search', ...EXCERPTS, ...web })
    expect(await search.search('kelp holdfast')).toEqual([HIT])
    expect(sent).toMatchObject([
      { method: 'POST', path: '/search', query: {}, headers: { authorization: `Bearer ${KEY}` } },
    ])
    expect(JSON.parse(sent[0]?.body ?? '')).toEqual({
      query: 'kelp holdfast',
      max_results: 5,
      search_depth: 'basic',
    })
  })

  it("goes to the vendor's own host over https unless there is a url", async () => {
    const { web, asked, dialled } = network(undefined)
    vi.stubEnv('BRAVE_API_KEY', ` ${KEY}\n`)
    vi.stubEnv('TAVILY_API_KEY', KEY)
    for (const search of [brave(web), tavily(web)])
      await expect(search.search('kelp')).rejects.toMatchObject({ code: 'search-failed', retry: 'later' })
    expect(asked).toEqual(['api.search.brave.com', 'api.tavily.com'])
    expect(dialled).toEqual(['93.184.216.34 443', '93.184.216.34 443'])
  })

  it('reaches an instance inside the network, which is configured', async () => {
    const { web, dialled } = await world({
      vendor: [{ body: SEARXNG }],
      addresses: { 'vendor.example': ['10.1.2.3'] },
    })
    await searxng({ url: 'http://vendor.example', ...EXCERPTS, ...web }).search('kelp')
    expect(dialled).toEqual(['10.1.2.3 80'])
  })

  it('has at most 50 words and 400 characters', async () => {
    const { web, sent } = await world({ vendor: [{ body: SEARXNG }] })
    const search = searxng({ url: 'http://vendor.example', ...EXCERPTS, ...web })
    await search.search('kelp '.repeat(60))
    await search.search(`${'holdfasts '.repeat(39)}laminaria hyperborea`)
    await search.search(`${'x'.repeat(399)}😀`)
    expect(sent.map(({ query }) => query['q'])).toEqual([
      'kelp '.repeat(50).trim(),
      `${'holdfasts '.repeat(39)}laminaria`,
      'x'.repeat(399),
    ])
  })
})

describe('a refusal', () => {
  const cases: readonly [keyof typeof VENDORS, number, unknown, 'never' | 'later', string][] = [
    ['searxng', 403, '<h1>Forbidden</h1>', 'never', 'Add json to search.formats in its settings.yml'],
    ['searxng', 401, 'no', 'never', 'Write them into url: https://user:password@host.'],
    [
      'brave',
      422,
      braveError('SUBSCRIPTION_TOKEN_INVALID', 422),
      'never',
      'It refuses the key. Check apiKey.',
    ],
    ['brave', 429, braveError('QUOTA_LIMITED', 429), 'never', "Your plan's quota is used up."],
    ['brave', 422, braveError('VALIDATION', 422), 'never', 'It refuses the request.'],
    ['brave', 503, '<h1>Busy</h1>', 'later', 'It is out of order. Try again later.'],
    ['tavily', 401, tavilyError('Unauthorized'), 'never', 'It refuses the key. Check apiKey.'],
    [
      'tavily',
      432,
      tavilyError("This request exceeds your plan's set usage limit."),
      'never',
      'quota is used up',
    ],
    [
      'tavily',
      433,
      tavilyError('This request exceeds the pay-as-you-go limit.'),
      'never',
      'quota is used up',
    ],
    ['tavily', 400, null, 'never', 'It refuses the request.'],
  ]

  it.each(cases)('of %s with status %i %o says what to do', async (...row) => {
    const [name, status, body, retry, advice] = row
    const error = await failureOf(name, [{ status, body }])
    expect(error).toMatchObject({ code: 'search-failed', retry, details: { vendor: name, status } })
    expect(error.message).toContain(` has failed with status ${status}. `)
    expect(error.message).toContain(advice)
  })

  it('names the variable that the key came from', async () => {
    vi.stubEnv('TAVILY_API_KEY', KEY)
    const { web } = await world({ vendor: [{ status: 401, body: {} }] })
    await expect(tavily({ url: 'http://vendor.example', ...web }).search('kelp')).rejects.toThrow(
      'The search by Tavily has failed with status 401. It refuses the key. Check TAVILY_API_KEY.',
    )
  })

  it('of the rate is tried again after the time that the vendor names, twice', async () => {
    const limited = { status: 429, body: braveError('RATE_LIMITED', 429) }
    const waits: number[] = []
    const timer = {
      wait: async (ms: number) => void waits.push(ms),
      after: () => () => {},
    }
    const vendor = [{ ...limited, headers: { 'retry-after': '3' } }, limited, { body: BRAVE }]
    const { web, sent } = await world({ vendor })
    expect(await VENDORS.brave({ ...EXCERPTS, ...web, timer }).search('kelp')).toHaveLength(1)
    expect([sent.length, waits]).toEqual([3, [3000, 1000]])
    const error = await failureOf('brave', [{ ...limited, headers: { 'retry-after': '900' } }], { timer })
    expect(error).toMatchObject({ code: 'search-failed', retry: 'later', details: { status: 429 } })
    expect(waits.slice(2)).toEqual([5000, 5000])
  })

  it('by a redirect names the other address, and does not go there', async () => {
    const { web, asked, sent } = await world({
      vendor: [{ status: 301, headers: { location: 'http://other.example/search?q=kelp' }, body: '' }],
    })
    await expect(searxng({ url: 'http://vendor.example', ...web }).search('kelp')).rejects.toMatchObject({
      code: 'search-failed',
      message:
        'The search by SearXNG has failed. It redirects to "http://other.example". Write its address there as url.',
    })
    expect([asked, sent.length]).toEqual([['vendor.example'], 1])
  })
})

describe('an answer', () => {
  it.each(['searxng', 'brave', 'tavily'] as const)(
    'of %s that is not its JSON is a failure',
    async (name) => {
      for (const body of ['<h1>Hello</h1>', '', '{"results":'])
        expect((await failureOf(name, [{ body }])).message).toContain(
          'Its answer is "text/html" and not JSON.',
        )
      for (const body of [null, [], 7, {}, { results: {} }, { web: { results: 'x' } }, { error: 'x' }])
        expect((await failureOf(name, [{ body }])).message).toContain('Its answer has no list of results.')
    },
  )

  it('without results is an empty list', async () => {
    const empty = {
      searxng: { query: 'x', results: [], unresponsive_engines: [] },
      brave: { type: 'search', query: { original: 'x' } },
      tavily: { query: 'x', results: [] },
    }
    for (const name of ['searxng', 'brave', 'tavily'] as const) {
      const { web } = await world({ vendor: [{ body: empty[name] }] })
      expect(await VENDORS[name]({ ...web }).search('kelp')).toEqual([])
    }
  })

  it('of SearXNG without results and with blocked engines is a failure, not an empty list', async () => {
    const unresponsive_engines = [['brave', 'Suspended: too many requests'], ['duckduckgo', 'CAPTCHA'], 'odd']
    const error = await failureOf('searxng', [{ body: { results: [], unresponsive_engines } }])
    expect(error).toMatchObject({ code: 'search-failed', retry: 'later' })
    expect(error.message).toContain('"brave" ("Suspended: too many requests"), "duckduckgo" ("CAPTCHA")')
  })

  it('that never ends, or is too large, is given up', async () => {
    const { web } = await world({ vendor: [{ body: { results: 'x'.repeat(2_100_000) } }] })
    await expect(VENDORS.searxng(web).search('kelp')).rejects.toThrow(
      'The response has more than 2000000 bytes.',
    )
    const clock = new ManualClock()
    const silent = { ...web, connect: () => new Promise<never>(() => {}), timer: clock, timeoutMs: 9000 }
    const late = VENDORS.tavily(silent).search('kelp')
    clock.advance(9000)
    await expect(late).rejects.toMatchObject({
      code: 'search-failed',
      retry: 'later',
      message: 'The search by Tavily has failed. It has not answered after 9000 ms.',
    })
  })
})

describe('a key', () => {
  it('that is missing is an error that names the variable to set', () => {
    for (const name of ['BRAVE_API_KEY', 'TAVILY_API_KEY', 'SEARXNG_URL']) vi.stubEnv(name, '')
    expect(() => brave()).toThrow(
      'brave() needs a key: set BRAVE_API_KEY in the environment, or pass apiKey. Keys are made at https://api-dashboard.search.brave.com.',
    )
    expect(() => tavily()).toThrow('set TAVILY_API_KEY in the environment')
    expect(() => searxng()).toThrow('set SEARXNG_URL in the environment, or pass url')
    for (const make of [brave, tavily, searxng])
      expect(() => make()).toThrow(expect.objectContaining({ code: 'missing-key' }))
  })

  it('is in no error and no property, whatever the vendor answers', async () => {
    const echo = { detail: { error: `wrong key ${KEY}` }, error: { code: KEY, detail: KEY }, results: KEY }
    for (const name of ['searxng', 'brave', 'tavily'] as const) {
      expect(inspect(VENDORS[name]({}), { depth: 9, showHidden: true })).not.toContain('SECRET')
      for (const status of [200, 400, 401, 403, 422, 429, 500]) {
        const timer = { wait: async () => {}, after: () => () => {} }
        const error = await failureOf(name, [{ status, body: echo }], { timer })
        expect(HoldfastError.is(error, 'search-failed')).toBe(true)
        expect(`${inspect(error, { depth: 9 })}${JSON.stringify(error)}`).not.toContain('SECRET')
      }
      const unreachable = VENDORS[name](network(undefined).web).search('kelp')
      expect(inspect(await unreachable.catch((error: unknown) => error), { depth: 9 })).not.toContain(
        'SECRET',
      )
    }
  })

  it('or an address that is none is refused without showing it', () => {
    for (const apiKey of ['a SECRET', 'SECRET\n', 5, {}] as string[])
      expect(() => brave({ apiKey })).toThrow(
        expect.objectContaining({ code: 'invalid-option', message: expect.not.stringContaining('SECRET') }),
      )
    for (const url of ['SECRET', 'ftp://me:SECRET@host', 7] as string[])
      expect(() => searxng({ url })).toThrow(
        expect.objectContaining({ code: 'invalid-option', message: expect.not.stringContaining('SECRET') }),
      )
  })
})

it('options and queries that are wrong are refused by name', async () => {
  const search = brave({ apiKey: KEY })
  for (const query of ['', '  \n', 5 as never])
    await expect(search.search(query)).rejects.toMatchObject({ details: { option: 'query' } })
  for (const limit of [0, 21, 1.5, Number.NaN])
    await expect(search.search('kelp', { limit })).rejects.toMatchObject({ details: { option: 'limit' } })
  await expect(search.search('kelp', { topK: 3 } as object)).rejects.toThrow('Write limit instead.')
  expect(() => brave({ api_key: 'x' } as object)).toThrow('Write apiKey instead.')
  expect(() => tavily({ apiKey: KEY, allowOrigins: [{ origin: 'nonsense' }] })).toThrow('allowOrigins')
})
