#!/bin/sh
# Every scenario that this machine lets happen, two rounds each; each is a case of test.xml, a skipped one with its reason.
exec tools/torture --draftmark tools/draftmark --rounds 2 --junit "$XML_OUTPUT_FILE"
