/**
 * The page at /docs: the OpenAPI document as HTML, made once. It has no script, so a strict policy costs nothing; every text is
 * escaped.
 */
import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../../protocol/index.ts'

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #767676 }
@media (prefers-color-scheme: dark) { :root { --dim: #9a9a9a } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem } p { margin: .4rem 0 }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; padding: .5rem .8rem }
summary { cursor: pointer; display: flex; gap: .8rem; align-items: baseline; flex-wrap: wrap }
code, pre { font: 13px/1.45 ui-monospace, monospace } pre { overflow-x: auto; margin: .4rem 0 }
.method { font-weight: 600; min-width: 3.8rem } .dim { color: var(--dim) }
table { border-collapse: collapse; width: 100% } td { border-top: 1px solid var(--line); padding: .3rem .6rem .3rem 0; vertical-align: top }
:focus-visible { outline: 2px solid Highlight; outline-offset: 2px }
`

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

export function docsPage(document: JsonObject): () => Response {
  const html = render(document)
  return () =>
    new Response(html, {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'content-security-policy': POLICY,
      },
    })
}

interface Operation {
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Json } } }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: JsonObject }>
  >
  readonly security?: readonly Json[]
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: JsonObject
}

function render(document: JsonObject): string {
  const paths = document['paths'] as unknown as Record<string, Record<string, Operation>>
  const sections = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods)) {
      const [tag = ''] = operation.tags
      sections.set(tag, [...(sections.get(tag) ?? []), operationHtml(method, path, operation)])
    }
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Holdfast: HTTP API</title><style>${STYLE}</style>
<h1>HTTP API</h1>
<p>Send <code>Authorization: Bearer …</code> or <code>X-API-Key: …</code>, unless the server runs for this machine alone.
Writes take an <code>Idempotency-Key</code>. Failures are <code>application/problem+json</code>, or have the form of their protocol.
The same as a document: <a href="openapi.json">openapi.json</a>.</p>
${[...sections].map(([tag, operations]) => `<h2>${escape(tag)}</h2>\n${operations.join('\n')}`).join('\n')}
</html>`
}

function operationHtml(method: string, path: string, operation: Operation): string {
  const { summary, parameters, requestBody, responses, security } = operation
  const body = requestBody?.content['application/json'].schema
  return `<details><summary><span class="method">${escape(method.toUpperCase())}</span><code>${escape(path)}</code>
<span class="dim">${escape(summary)}${security?.length === 0 ? ' (public)' : ''}</span></summary>
${parameters.length === 0 ? '' : `<p>Parameters</p><table>${parameters.map(parameterHtml).join('')}</table>`}
${body === undefined ? '' : `<p>Body</p>${jsonHtml(body)}`}
<p>Responses</p><table>${Object.entries(responses).map(responseHtml).join('')}</table></details>`
}

function parameterHtml({ name, in: place, required, schema }: Parameter): string {
  const { description, ...rest } = schema
  const about = typeof description === 'string' ? escape(description) : ''
  return `<tr><td><code>${escape(name)}</code><td class="dim">${escape(place)}${required ? ', required' : ''}<td>${jsonHtml(rest)}${about}`
}

function responseHtml([status, { description, content = {} }]: [
  string,
  Operation['responses'][string],
]): string {
  const types = Object.entries(content).map(([type, value]) => {
    const { schema } = value as { schema?: Json }
    return `<p class="dim">${escape(type)}</p>${schema === undefined ? '' : jsonHtml(schema)}`
  })
  return `<tr><td><code>${escape(status)}</code><td>${escape(description)}${types.join('')}`
}

/** JSON up to this length is one line. */
const SHORT = 60

function jsonHtml(value: Json): string {
  const line = JSON.stringify(value)
  return `<pre>${escape(line.length <= SHORT ? line : JSON.stringify(value, null, 2))}</pre>`
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
