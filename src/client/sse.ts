/** Reads Server-Sent Events from the body of a response. */

export interface Frame {
  readonly event: string
  readonly data: string
  readonly id?: string
}

/** Also yields undefined for each comment: the server is alive. */
export async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame | undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let pending = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const parts = (pending + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/)
      pending = parts.pop() ?? ''
      for (const part of parts) yield frameOf(part)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function frameOf(part: string): Frame | undefined {
  let event = 'message'
  let id: string | undefined
  const data: string[] = []
  for (const line of part.split(/\r?\n/)) {
    const [, name, value = ''] = /^(event|data|id):? ?(.*)$/.exec(line) ?? []
    if (name === 'event') event = value
    else if (name === 'data') data.push(value)
    else if (name === 'id') id = value
  }
  if (data.length === 0) return undefined
  return { event, data: data.join('\n'), ...(id === undefined ? {} : { id }) }
}
