import neighbour

for i in range(3):
    neighbour.twice(i)
RESULT = (__name__, i)
