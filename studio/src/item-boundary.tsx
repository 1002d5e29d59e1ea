/** Bounds a failure to draw an item: the rest of the page stays. */
import { Component, type ReactNode } from 'react'

interface BoundaryProps {
  readonly children: ReactNode
}

export class ItemBoundary extends Component<BoundaryProps, { readonly hasFailed: boolean }> {
  override readonly state = { hasFailed: false }

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true }
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children
    return (
      <div className="notice error">
        <p>The page cannot show this part of the conversation. The timeline has its data.</p>
      </div>
    )
  }
}
