/** A conversation that does not exist yet: the first message creates it. */
import type { ConversationClient, HoldfastClient, SendMessage } from 'holdfast/client'
import { useRef } from 'react'
import { addressOf } from './address.ts'
import { Composer } from './composer.tsx'
import { BackLink } from './conversation-header.tsx'
import { visible } from './visible-text.ts'

interface NewProps {
  readonly client: HoldfastClient
  readonly name: string
  readonly isGraph: boolean
}

export function NewConversation({ client, name, isGraph }: NewProps) {
  // One id for every attempt: a message that is sent again is stored once.
  const made = useRef<ConversationClient>(null)
  const send = async (message: SendMessage): Promise<void> => {
    made.current ??= await client.create(name)
    await made.current.send(message)
    location.replace(addressOf(made.current.contextId))
  }
  return (
    <div className="conversation">
      <header className="top">
        <BackLink />
        <div className="who">
          <h2>{visible(name)}</h2>
        </div>
      </header>
      <div className="talk">
        <div className="welcome">
          <p>
            {isGraph
              ? 'A graph: it runs with the values that you give it.'
              : 'Write a message to begin a conversation.'}
          </p>
        </div>
        <Composer
          name={name}
          isGraph={isGraph}
          isRunning={false}
          initial={isGraph ? '{}' : ''}
          onSend={send}
          onCancel={() => {}}
        />
      </div>
    </div>
  )
}
