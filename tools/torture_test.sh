#!/bin/sh
# Every scenario that this machine lets happen, two rounds each.
exec tools/torture --draftmark tools/draftmark --rounds 2
