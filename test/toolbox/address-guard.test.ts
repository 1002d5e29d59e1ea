/** The address guard: which URLs, addresses and redirects are refused. Only loopback is ever dialled. */
import { describe, expect, it } from 'vitest'
import { GuardedFetchError, type GuardedFetchOptions, guardedFetch } from '../../src/toolbox/index.ts'
import { HOSTILE_HOSTS, HOSTILE_URLS, SPECIAL_ADDRESSES } from './hostile-urls.ts'
import { internet, network, PUBLIC } from './web-kit.ts'

/** The code of the refusal, or the status of a response. */
async function codeOf(url: string, options: GuardedFetchOptions): Promise<string | number> {
  try {
    return (await guardedFetch(url, options)).status
  } catch (error) {
    if (error instanceof GuardedFetchError) return error.code
    throw error
  }
}

const REFUSED = ['refused-address', 'invalid-url']

describe('a URL', () => {
  it('to a machine inside is refused in every notation, and nothing is dialled', async () => {
    expect(HOSTILE_HOSTS.length).toBeGreaterThan(500)
    for (const scheme of ['http', 'https']) {
      const { dialled, asked, web: offline } = network(undefined, {})
      const codes = await Promise.all(
        HOSTILE_HOSTS.map((host) => codeOf(`${scheme}://${host}/latest`, offline)),
      )
      expect(HOSTILE_HOSTS.filter((_, at) => !REFUSED.includes(String(codes[at])))).toEqual([])
      expect(codes.filter((code) => code === 'refused-address').length).toBeGreaterThan(400)
      expect([...dialled, ...asked]).toEqual([])
    }
  })

  it('of another kind, with credentials or on another port is refused', async () => {
    const { dialled, asked, web: offline } = network(undefined)
    const codes = await Promise.all(HOSTILE_URLS.map((url) => codeOf(url, offline)))
    expect(HOSTILE_URLS.filter((_, at) => codes[at] !== 'invalid-url')).toEqual([])
    expect([...dialled, ...asked]).toEqual([])
  })

  it('with a public address is requested, also in numbers', async () => {
    const { dialled, asked, web } = await internet((_, response) => response.end('hello'))
    const hosts = [PUBLIC, '1572395042', '[2606:2800:21f:cb07::1]', 'example.com.', 'bücher.example']
    const found = []
    for (const host of hosts) found.push(await codeOf(`http://${host}/`, web))
    expect(found).toEqual(hosts.map(() => 200))
    expect(asked).toEqual(['example.com.', 'xn--bcher-kva.example'])
    const literal = [PUBLIC, PUBLIC, '2606:2800:21f:cb07::1', PUBLIC, PUBLIC]
    expect(dialled).toEqual(literal.map((address) => `${address} 80`))
  })
})

describe('a name', () => {
  it('with a special address is refused, alone or beside a public one', async () => {
    for (const address of SPECIAL_ADDRESSES)
      for (const answer of [[address], [PUBLIC, address], [address, PUBLIC]]) {
        const { dialled, web: offline } = network(undefined, { 'rebind.example': answer })
        expect([answer, await codeOf('https://rebind.example/', offline)]).toEqual([
          answer,
          'refused-address',
        ])
        expect(dialled).toEqual([])
      }
  })

  it('that changes its address is dialled at the checked one, and checked again for each redirect', async () => {
    const { dialled, web } = await internet((request, response) => {
      if (request.url === '/first') response.writeHead(302, { location: '/second' })
      response.end()
    })
    const answers = [[PUBLIC], ['127.0.0.1'], ['10.0.0.1']]
    const resolve = (): Promise<readonly string[]> => Promise.resolve(answers.shift() ?? [])
    expect(await codeOf('http://rebind.example/first', { ...web, resolve })).toBe('refused-address')
    expect(dialled).toEqual([`${PUBLIC} 80`])
    expect(answers).toEqual([['10.0.0.1']])
  })

  it('that the system resolves is checked, too', async () => {
    const { dialled, web } = network(undefined)
    expect(await codeOf('http://localhost/', { connect: web.connect })).toBe('refused-address')
    expect(dialled).toEqual([])
  })

  it('that cannot be resolved is an error that names it, and no address of the inside is in a refusal', async () => {
    const { web } = network(undefined, { 'none.example': [], 'inside.example': ['10.11.12.13'] })
    const failing = (): Promise<never> => Promise.reject(new Error('ENOTFOUND'))
    await expect(guardedFetch('https://none.example', web)).rejects.toThrow(
      'No address of "none.example" was found. Check its name.',
    )
    await expect(guardedFetch('https://none.example', { ...web, resolve: failing })).rejects.toMatchObject({
      code: 'unreachable',
    })
    await expect(guardedFetch('https://inside.example', web)).rejects.toThrow(
      /^"inside.example" has a private address. Only addresses of the public internet are reached.$/,
    )
  })
})

describe('a redirect', () => {
  it('to a machine inside, or to no web page, is not followed', async () => {
    const targets = [
      ...HOSTILE_HOSTS.map((host) => `http://${host.replaceAll(/[\t\n]/g, '')}/`),
      ...HOSTILE_URLS,
    ]
    const { dialled, web } = await internet((request, response) => {
      const target = targets[Number(request.url?.slice(1))] ?? ''
      response.writeHead(302, { location: Buffer.from(target).toString('latin1') })
      response.end()
    })
    const chosen = targets.flatMap((target, at) =>
      HOSTILE_URLS.includes(target) || at % 3 === 0 ? [at] : [],
    )
    expect(chosen.length).toBeGreaterThan(200)
    const relative = ['', 'example.com', '//example.com/', '/etc/passwd']
    const hostile = chosen.filter((at) => !relative.includes(targets[at] ?? ''))
    const codes = await Promise.all(hostile.map((at) => codeOf(`http://start.example/${at}`, web)))
    const followed = hostile.filter(
      (_, at) => !['refused-address', 'refused-redirect'].includes(String(codes[at])),
    )
    expect(followed.map((at) => targets[at])).toEqual([])
    expect(new Set(dialled)).toEqual(new Set([`${PUBLIC} 80`]))
  })

  it('is followed at most as often as is allowed', async () => {
    const { dialled, web } = await internet((request, response) => {
      const left = Number(request.url?.slice(1))
      if (left > 0)
        response.writeHead([301, 302, 303, 307, 308][left % 5] ?? 302, { location: `/${left - 1}` })
      response.end('here')
    })
    expect(await guardedFetch('http://a.example/5', web)).toMatchObject({
      url: 'http://a.example/0',
      status: 200,
    })
    expect(dialled.length).toBe(6)
    expect((await guardedFetch('http://a.example/1', { ...web, method: 'get' })).url).toBe(
      'http://a.example/0',
    )
    expect(await codeOf('http://a.example/6', web)).toBe('refused-redirect')
    expect(await codeOf('http://a.example/1', { ...web, maxRedirects: 0 })).toBe('refused-redirect')
  })

  it('that `follow` declines, or of another method, is returned with its target', async () => {
    const seen: string[] = []
    const { dialled, web } = await internet((request, response) => {
      seen.push(request.method ?? '')
      response.writeHead(307, { location: Buffer.from('http://b.example/é?x=1').toString('latin1') })
      response.end()
    })
    const location = 'http://b.example/%C3%A9?x=1'
    const declined = await guardedFetch('http://a.example/', {
      ...web,
      follow: ({ host }) => host !== 'b.example',
    })
    expect(declined).toMatchObject({ status: 307, url: 'http://a.example/', location })
    const posted = await guardedFetch('http://a.example/', { ...web, method: 'POST', body: '{}' })
    expect(posted).toMatchObject({ status: 307, location })
    expect(seen).toEqual(['GET', 'POST'])
    expect(dialled.length).toBe(2)
  })

  it('to another origin does not get the headers and the body of the caller', async () => {
    const seen: unknown[] = []
    const { web } = await internet((request, response) => {
      const { host, authorization, 'content-length': length } = request.headers
      seen.push([host, authorization, length])
      if (request.url === '/') response.writeHead(302, { location: 'http://b.example/end' })
      response.end()
    })
    await guardedFetch('http://a.example/', {
      ...web,
      headers: { authorization: 'Bearer 1', Host: 'x' },
      body: 'secret',
    })
    expect(seen).toEqual([
      ['a.example', 'Bearer 1', '6'],
      ['b.example', undefined, undefined],
    ])
  })
})

describe('an allowed origin', () => {
  it('is reached on its port and at its addresses, and nothing beside it is', async () => {
    const { dialled, web } = await internet((_, response) => response.end('inside'), {
      answers: {
        'app.internal': ['10.1.2.3'],
        'other.internal': ['10.1.2.3'],
        'moved.internal': ['10.200.0.1'],
      },
    })
    const allowOrigins = ['app', 'moved'].map((name) => ({
      origin: `http://${name}.internal:8080`,
      addresses: ['10.1.0.0/16'],
    }))
    const options = { ...web, allowOrigins }
    expect(await codeOf('http://app.internal:8080/', options)).toBe(200)
    expect(dialled).toEqual(['10.1.2.3 8080'])
    expect(await codeOf('http://app.internal:8081/', options)).toBe('invalid-url')
    expect(await codeOf('https://app.internal:8080/', options)).toBe('invalid-url')
    expect(await codeOf('http://app.internal/', options)).toBe('refused-address')
    expect(await codeOf('http://other.internal/', options)).toBe('refused-address')
    expect(await codeOf('http://moved.internal:8080/', options)).toBe('refused-address')
    expect(dialled.length).toBe(1)
  })

  it('must be an origin with readable addresses', async () => {
    const wrong = [
      'localhost:3000',
      'http://x.example/path',
      'ftp://x.example',
      'http://a:b@x.example',
      'http://x/?q',
    ]
    for (const origin of wrong)
      await expect(guardedFetch('https://a.example', { allowOrigins: [{ origin }] })).rejects.toMatchObject({
        code: 'invalid-option',
      })
    for (const address of [
      '10.0.0.0/33',
      '10.0.0/8',
      '::/129',
      'x',
      '1.2.3.4/',
      'fe80::1%lo',
      '10.0.0.0/8/8',
    ])
      await expect(
        guardedFetch('https://a.example', { allowOrigins: [{ origin: 'http://x', addresses: [address] }] }),
      ).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
