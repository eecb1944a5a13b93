"""The recorded runs of a store, as users handle them.

`describing` tells what they keep, `verifying` whether it is still whole, `sharing` exports and imports them
(`archive`: as one file), `collecting` frees bytes (`choosing` says which runs go, `locks` which are in use).
`remote` reads a store behind a URL (`fetching`: the process that does so); `relocating` finds a project that
has moved since.
"""
