"""Tests of a solution's scripts, written in Lua with the words of busted: describe, it, assert.

Each test plays in a Lua state of its own, outside of the lab, so that its calls wait for the lab and move its clock.
"""
