import { describe, expect, test } from 'vitest'
import { memoryStore } from '../../../src/index.ts'
import type { AccessLine, HttpOptions } from '../../../src/serve/http/index.ts'
import type { Mount } from '../../../src/serve/mount.ts'
import { HttpProblem } from '../../../src/serve/problem.ts'
import { open } from './kit.ts'

const echo: Mount = {
  name: 'echo',
  routes: [
    { method: 'GET', path: '/echo/card', isPublic: true, handle: () => new Response('card') },
    {
      method: 'POST',
      path: '/echo/{id}',
      handle: async ({ caller, params, body }) =>
        Response.json({ actor: caller.actor, id: params['id'], body: await body() }),
    },
    {
      method: 'GET',
      path: '/echo/deep/*',
      handle: () => {
        throw new HttpProblem({ status: 409, code: 'busy', detail: 'It is busy.' })
      },
    },
    { method: 'PUT', path: '/echo/{id}', handle: () => new Response('put') },
  ],
  requestHeaders: ['X-Echo', 'x-more-*'],
  responseHeaders: ['x-echoed'],
  problem: ({ code, status }) => Response.json({ error: code }, { status }),
}

async function server(options: HttpOptions = {}) {
  const { call } = await open(
    { store: memoryStore(), agents: { helper: { model: 'reflex' } } },
    {
      mounts: [echo],
      authenticate: (request) =>
        request.headers.get('authorization') === 'Bearer a' ? { tenant: 't', actor: 'ada' } : undefined,
      ...options,
    },
  )
  return call
}

function post(body: string): RequestInit {
  return { method: 'POST', body, headers: { authorization: 'Bearer a', 'content-type': 'application/json' } }
}

describe('a mounted protocol', () => {
  test('gets the caller, the parameters and the body', async () => {
    const call = await server()
    const response = await call('/echo/7', post('{"x":1}'))
    expect(await response.json()).toEqual({ actor: 'ada', id: '7', body: { x: 1 } })
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('is closed to callers without a token, except for its public routes', async () => {
    const call = await server()
    const refused = await call('/echo/7', { method: 'POST', body: '{}' })
    expect([refused.status, await refused.json()]).toEqual([401, { error: 'unauthorized' }])
    expect(await (await call('/echo/card')).text()).toBe('card')
  })

  test('fails in its own form, within the bounds of the server, and is in the log', async () => {
    const lines: AccessLine[] = []
    const call = await server({ maxBodyBytes: 10, accessLog: (line) => lines.push(line) })
    const large = await call('/echo/7', post('{"x":"far too long"}'))
    expect([large.status, await large.json()]).toEqual([413, { error: 'too-large' }])
    const busy = await call('/echo/deep/a/b?token=hidden', { headers: { authorization: 'Bearer a' } })
    expect([busy.status, await busy.json()]).toEqual([409, { error: 'busy' }])
    const who = {
      tenant: 't',
      actor: 'ada',
      at: expect.any(String) as string,
      ms: expect.any(Number) as number,
    }
    expect(lines).toEqual([
      { method: 'POST', path: '/echo/7', route: 'echo', status: 413, code: 'too-large', ...who },
      { method: 'GET', path: '/echo/deep/a/b', route: 'echo', status: 409, code: 'busy', ...who },
    ])
  })

  test('has its headers and methods allowed and exposed for listed origins, and for no others', async () => {
    const call = await server({ cors: ['https://app.example'] })
    const asked = async (origin: string) => {
      const { status, headers } = await call('/echo/7', {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-headers': 'x-echo,x-more-a, x-more-,x-other' },
      })
      const listed = (name: string) => headers.get(name)?.split(', ')
      return {
        status,
        allowed: listed('access-control-allow-headers'),
        methods: listed('access-control-allow-methods'),
      }
    }
    const { status, allowed, methods } = await asked('https://app.example')
    expect(status).toBe(204)
    expect(allowed).toEqual(expect.arrayContaining(['authorization', 'x-echo', 'x-more-a']))
    expect(allowed).not.toEqual(expect.arrayContaining(['x-other']))
    expect(methods).toEqual(['GET', 'POST', 'DELETE', 'PUT'])
    expect(await asked('https://evil.example')).toEqual({
      status: 403,
      allowed: undefined,
      methods: undefined,
    })
    const exposed = async (origin: string) => {
      const { headers } = await call('/echo/card', { headers: { origin } })
      return headers.get('access-control-expose-headers')
    }
    expect(await exposed('https://app.example')).toBe(
      'content-disposition, retry-after, x-visitor-key, x-echoed',
    )
    expect(await exposed('https://evil.example')).toBeNull()
  })
})
