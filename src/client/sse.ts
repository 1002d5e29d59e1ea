/** Reads Server-Sent Events from the body of a response. */

export interface Frame {
  readonly event: string
  readonly data: string
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
      const text = decoder.decode(value, { stream: true })
      pending += text
      // A frame of many megabytes is not searched again with each of its chunks.
      if (!text.includes('\n')) continue
      const parts = pending.split(/\r?\n\r?\n/)
      pending = parts.pop() ?? ''
      for (const part of parts) yield frameOf(part)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function frameOf(part: string): Frame | undefined {
  let event = 'message'
  const data: string[] = []
  for (const line of part.split(/\r?\n/)) {
    // A value may have line separators of Unicode, which end no line here.
    const [, name, value = ''] = /^(event|data)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'event') event = value
    else if (name === 'data') data.push(value)
  }
  return data.length === 0 ? undefined : { event, data: data.join('\n') }
}
