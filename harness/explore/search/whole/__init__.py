"""The whole search: every interleaving of a world, without a bound, up to independent steps.

Dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005) with source sets (Abdulla,
Aronis, Jonsson and Sagonas, JACM 2017; POPL 2014) and sleep sets (Godefroid, LNCS 1032, 1996). A
run is a sequence of turns. Two turns are dependent if one task takes both, if they use the same
object and neither both read it nor both only add to it, or if one makes the other possible. Runs
that differ only in the order of independent turns end alike, so that one of them is enough.

Why nothing is lost:

- What a turn uses is recorded while it runs (`observing`), by the operations themselves, and is
  never less than what it uses. A turn does the same after others that are independent of it.
- A lock is one object, with which a turn uses all that the lock guards, unless its block names the
  parts that it uses (`concurrency.in_parts`). Such a block is part of one turn, so that no other
  task can see that the lock was held, and two of them that use different parts commute. If another
  task may run during the block, after all, because it takes another lock, it counts as one that
  uses everything. Parts are declared in the subject; tests swap neighbouring turns of random runs
  that are independent by their parts, and nothing but numbers of versions may differ.
- In a run, each two dependent turns of different tasks that could have come in the other order are
  a race (`turns`). At the place of the first one, one of the turns is tried with which the other
  order can begin (source sets). To follow all turns that lead to the other order (wakeup trees of
  the same authors) was tried: in these worlds it spares no runs.
- A turn that was tried at a place sleeps in what is tried there later, until a turn depends on it:
  all that begins with it was searched (sleep sets). A run in which all that can go on sleeps is
  cut.
- Waiting for a lock is not a turn: a task whose lock is held cannot go on. A race is reported with
  the turn that took the lock, not with those during which it was held; the release comes before
  the next turn that takes it. A task that still waits when none can run, or when a run is cut,
  races as if it had the lock: so deadlocks lose nothing. Batons (`concurrency.Baton`) are like
  locks in this.
- A write of the API server changes the objects of its resource, and commutes with those of others,
  if no oracle looks at both (`api_server`). Versions come from one counter for all resources,
  but the versions of two resources are never compared. Creations and deletions use everything.
- A timer that may expire early, and does not, is tried at the last place where it may before a
  moment in which no task could run. From there its races lead to the earlier places. When all tasks
  wait, time passes. If one timer ends the waiting, which might have expired earlier, the turn after
  it races as if it had. If several do, they race as turns that could not be taken. Setting and
  cancelling timers are dependent on each other, and on those that expire.
- Faults are choices within a turn: every value is tried.
- What comes after a moment in which no task could run depends on everything before it, but for a
  turn whose timer might have expired earlier, and what follows from it.
- Where a run ends with a finding, races that it would have had later are unknown: everything that
  can happen is tried at each of its places.

States are not remembered: they are not captured, only what has led to them, and no two runs here
lead to the same state in that sense. Some runs are not covered: other places
at which a task is replaced, more early timers than `tasks.EARLY_MAX`, other orders of one
notification's waiters. Locks without contention (`WorldSpec.private_locks`) are no places at which
a task is replaced.
"""
