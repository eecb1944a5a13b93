"""The tests mirror the rooms: tests/transforms, tests/runtime, tests/florc; whole programs: tests/cases.

A test at one of the rooms' doors feeds a step and looks at the dataclass that comes out; the tests marked
`program` (test_samples, test_cases) run training scripts under plain Python and under florc and compare.
`harness` is what those share.
"""
